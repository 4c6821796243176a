// The CPU implementation of Concat, for concat.cc.

#ifndef DTNN_KERNELS_CONCAT_CONCAT_CPU_H_
#define DTNN_KERNELS_CONCAT_CONCAT_CPU_H_

#include <memory>

#include "kernels/concat/concat.h"

namespace dtnn {

std::unique_ptr<Concat> CreateConcatCpu(const ConcatSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONCAT_CONCAT_CPU_H_
