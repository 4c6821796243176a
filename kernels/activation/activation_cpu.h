// The CPU implementation of Activation, for activation.cc.

#ifndef DTNN_KERNELS_ACTIVATION_ACTIVATION_CPU_H_
#define DTNN_KERNELS_ACTIVATION_ACTIVATION_CPU_H_

#include <memory>

#include "kernels/activation/activation.h"

namespace dtnn {

std::unique_ptr<Activation> CreateActivationCpu(const ActivationSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_ACTIVATION_ACTIVATION_CPU_H_
