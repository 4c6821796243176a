// The CPU implementation of Update, for update.cc.

#ifndef DTNN_KERNELS_UPDATE_UPDATE_CPU_H_
#define DTNN_KERNELS_UPDATE_UPDATE_CPU_H_

#include <memory>

#include "kernels/update/update.h"

namespace dtnn {

std::unique_ptr<Update> CreateUpdateCpu(const UpdateSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_UPDATE_CPU_H_
