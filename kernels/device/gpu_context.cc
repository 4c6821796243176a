#include "kernels/device/gpu_context.h"

#include "kernels/operands/operand.h"
#include "tensor/errors.h"
#include "tensor/gpu/open_gpus.h"

namespace dtnn {
namespace {

size_t BytesOf(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuContext>> GpuContext::Create(Device device) {
  std::unique_ptr<GpuContext> context(new GpuContext(device));
  DTNN_RETURN_IF_ERROR(context->Start());
  return context;
}

absl::Status GpuContext::Start() {
  DTNN_ASSIGN_OR_RETURN(gpu::Gpu* const gpu, gpu::OpenGpu(device()));
  DTNN_ASSIGN_OR_RETURN(stream_, gpu->CreateStream("main"));
  DTNN_ASSIGN_OR_RETURN(staging_, gpu::Staging::Create(*gpu));
  return absl::OkStatus();
}

absl::Status GpuContext::Copy(const Tensor& from, const Tensor& to) {
  const auto on_host = [](const Tensor& tensor) {
    return !tensor.empty() && tensor.device().is_cpu();
  };
  for (const Tensor* tensor : {&from, &to}) {
    DTNN_RETURN_IF_ERROR(CheckOperand("copying", tensor == &to ? "the destination" : "the source",
                                      *tensor, on_host(*tensor) ? Device::Cpu() : device(),
                                      tensor->dtype(), tensor->shape(), Pitch::kNone));
  }
  if (BytesOf(from) != BytesOf(to)) {
    return InvalidArgument("copying: ", BytesOf(from), " bytes to a tensor of ", BytesOf(to),
                           "; expected as many");
  }
  if (on_host(from) && on_host(to)) return DeviceContext::Copy(from, to);
  if (on_host(from)) {
    return staging_->Upload(*stream_, to.raw_data(), from.raw_data(), BytesOf(to));
  }
  if (on_host(to)) {
    return staging_->Download(*stream_, to.raw_data(), from.raw_data(), BytesOf(to));
  }
  return stream_->Copy(to.raw_data(), from.raw_data(), BytesOf(to));
}

absl::Status GpuContext::FillZero(const Tensor& tensor) {
  DTNN_RETURN_IF_ERROR(CheckOperand("zeroing", "the tensor", tensor, device(), tensor.dtype(),
                                    tensor.shape(), Pitch::kNone));
  return stream_->Fill(tensor.raw_data(), 0, BytesOf(tensor));
}

absl::Status GpuContext::Synchronize() { return stream_->Synchronize(); }

}  // namespace dtnn
