#include "kernels/activation/activation.h"

#include "kernels/activation/activation_cpu.h"
#include "kernels/elementwise/operands.h"
#include "tensor/status_macros.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/activation/activation_cuda.h"
#endif

namespace dtnn {

std::string_view Name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return "relu";
    case ActivationKind::kSigmoid:
      return "sigmoid";
    case ActivationKind::kTanh:
      return "tanh";
    case ActivationKind::kLeakyRelu:
      return "leaky_relu";
    case ActivationKind::kRelu6:
      return "relu6";
    case ActivationKind::kArctanh:
      return "arctanh";
    case ActivationKind::kLog:
      return "log";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<Activation>> CreateActivation(DeviceContext& context,
                                                             const ActivationSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating(Name(spec.kind), spec.dtype));
  switch (context.device().type) {
    case DeviceType::kCpu:
      return CreateActivationCpu(spec);
#ifdef DTNN_WITH_CUDA
    case DeviceType::kCuda:
      return CreateActivationCuda(context, spec);
#endif
    default:
      return NoKernelFor(Name(spec.kind), context.device());
  }
}

}  // namespace dtnn
