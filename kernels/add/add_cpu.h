// The CPU implementation of Add, for add.cc.

#ifndef DTNN_KERNELS_ADD_ADD_CPU_H_
#define DTNN_KERNELS_ADD_ADD_CPU_H_

#include <memory>

#include "kernels/add/add.h"

namespace dtnn {

std::unique_ptr<Add> CreateAddCpu(const AddSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ADD_ADD_CPU_H_
