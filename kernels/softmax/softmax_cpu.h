// The CPU implementations of Softmax and SoftmaxCrossEntropy, for softmax.cc.

#ifndef DTNN_KERNELS_SOFTMAX_SOFTMAX_CPU_H_
#define DTNN_KERNELS_SOFTMAX_SOFTMAX_CPU_H_

#include <memory>

#include "kernels/softmax/softmax.h"

namespace dtnn {

std::unique_ptr<Softmax> CreateSoftmaxCpu(const SoftmaxSpec& spec);
std::unique_ptr<SoftmaxCrossEntropy> CreateSoftmaxCrossEntropyCpu(const SoftmaxSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_SOFTMAX_SOFTMAX_CPU_H_
