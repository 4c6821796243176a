// The CPU implementation of Bias, for bias.cc.

#ifndef DTNN_KERNELS_BIAS_BIAS_CPU_H_
#define DTNN_KERNELS_BIAS_BIAS_CPU_H_

#include <memory>

#include "kernels/bias/bias.h"

namespace dtnn {

std::unique_ptr<Bias> CreateBiasCpu(const BiasSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BIAS_BIAS_CPU_H_
