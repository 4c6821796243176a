// The CPU implementation of Dropout, for dropout.cc.

#ifndef DTNN_KERNELS_DROPOUT_DROPOUT_CPU_H_
#define DTNN_KERNELS_DROPOUT_DROPOUT_CPU_H_

#include <memory>

#include "kernels/dropout/dropout.h"

namespace dtnn {

std::unique_ptr<Dropout> CreateDropoutCpu(const DropoutSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DROPOUT_DROPOUT_CPU_H_
