#include "kernels/device/context.h"

#include <cstring>

#include "kernels/device/gpu_context.h"
#include "kernels/operands/operand.h"
#include "kernels/simd/simd_target.h"
#include "tensor/errors.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/device/cuda_context.h"
#endif

namespace dtnn {
namespace {

class CpuContext : public DeviceContext {
 public:
  CpuContext() : DeviceContext(Device::Cpu()) {}
};

size_t BytesOf(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceContext>> DeviceContext::Create(Device device) {
  DTNN_RETURN_IF_ERROR(RestrictSimdByEnvironment());
  if (device.is_cpu()) return std::make_unique<CpuContext>();
#ifdef DTNN_WITH_CUDA
  if (device.type == DeviceType::kCuda) return CudaContext::Create(device);
#endif
  return GpuContext::Create(device);
}

absl::Status DeviceContext::SetMathMode(MathMode mode) {
  if (device_.is_cpu() && mode != MathMode::kFp32 && mode != MathMode::kBf16) {
    return InvalidArgument("math mode ", Name(mode), ": ", device_.ToString(),
                           " computes with fp32 or bf16; other modes need a GPU");
  }
  math_mode_ = mode;
  return absl::OkStatus();
}

absl::Status DeviceContext::Copy(const Tensor& from, const Tensor& to) {
  for (const Tensor* tensor : {&from, &to}) {
    DTNN_RETURN_IF_ERROR(CheckOperand("copying", tensor == &to ? "the destination" : "the source",
                                      *tensor, Device::Cpu(), tensor->dtype(), tensor->shape(),
                                      Pitch::kNone));
  }
  if (BytesOf(from) != BytesOf(to)) {
    return InvalidArgument("copying: ", BytesOf(from), " bytes to a tensor of ", BytesOf(to),
                           "; expected as many");
  }
  std::memcpy(to.raw_data(), from.raw_data(), BytesOf(from));
  return absl::OkStatus();
}

absl::Status DeviceContext::FillZero(const Tensor& tensor) {
  DTNN_RETURN_IF_ERROR(CheckOperand("zeroing", "the tensor", tensor, Device::Cpu(), tensor.dtype(),
                                    tensor.shape(), Pitch::kNone));
  std::memset(tensor.raw_data(), 0, BytesOf(tensor));
  return absl::OkStatus();
}

}  // namespace dtnn
