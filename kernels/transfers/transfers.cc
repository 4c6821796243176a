#include "kernels/transfers/transfers.h"

#include "kernels/device/gpu_context.h"
#include "kernels/operands/operand.h"
#include "tensor/gpu/arrivals.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

size_t BytesOf(const Tensor& tensor) {
  return size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
}

// The first samples of a dense tensor, as many as `like` has.
Tensor FirstOf(const Tensor& twin, const Tensor& like) {
  return twin.Samples(0, like.shape()[0], TensorFormat::kNHWC);
}

// For arrivals that fit into `twin`.
absl::StatusOr<std::shared_ptr<gpu::Arrivals>> NewArrivals(DeviceContext& context,
                                                           const Tensor& twin) {
  return gpu::Arrivals::Create(static_cast<GpuContext&>(context).copies(), BytesOf(twin));
}

}  // namespace

absl::StatusOr<Tensor> ToHost(DeviceContext& context, const Tensor& tensor) {
  if (context.device().is_cpu()) return tensor;
  if (!tensor.dense()) return Tensor();
  DTNN_ASSIGN_OR_RETURN(Tensor host,
                        Tensor::Allocate(Device::Cpu(), tensor.dtype(), tensor.shape()));
  DTNN_RETURN_IF_ERROR(context.Copy(tensor, host));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  return host;
}

absl::StatusOr<Tensor> ToDevice(DeviceContext& context, const Tensor& host) {
  if (context.device().is_cpu()) return host;
  DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                        Tensor::Allocate(context.device(), host.dtype(), host.shape()));
  DTNN_RETURN_IF_ERROR(context.Copy(host, tensor));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  return tensor;
}

absl::Status ChangeOnHost(DeviceContext& context, const Tensor& tensor,
                          absl::FunctionRef<absl::Status(const Tensor& host)> change) {
  if (context.device().is_cpu()) return change(tensor);
  if (!tensor.dense()) return absl::InvalidArgumentError("a tensor to be changed has a pitch");
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(context, tensor));
  DTNN_RETURN_IF_ERROR(change(host));
  DTNN_RETURN_IF_ERROR(context.Copy(host, tensor));
  return context.Synchronize();
}

absl::StatusOr<DeviceTwin> DeviceTwin::Create(DeviceContext& context, DType dtype,
                                              const Shape& largest) {
  DeviceTwin twin;
  twin.context_ = &context;
  if (context.device().is_cpu()) return twin;
  DTNN_ASSIGN_OR_RETURN(twin.twin_, Tensor::Allocate(context.device(), dtype, largest));
  DTNN_ASSIGN_OR_RETURN(twin.arrivals_, NewArrivals(context, twin.twin_));
  return twin;
}

absl::StatusOr<Tensor> DeviceTwin::Put(const Tensor& host) {
  if (twin_.empty()) return host;
  if (!host.empty() && host.device() == twin_.device()) {
    const Tensor device = FirstOf(twin_, host);
    DTNN_RETURN_IF_ERROR(context_->Copy(host, device));
    return device;
  }
  if (arrivals_ == nullptr) {
    DTNN_ASSIGN_OR_RETURN(arrivals_, NewArrivals(*context_, twin_));
  }
  const Tensor device = FirstOf(twin_, host);
  DTNN_RETURN_IF_ERROR(CheckOperand("bringing", "the batch", host, Device::Cpu(), twin_.dtype(),
                                    device.shape(), Pitch::kNone));
  DTNN_RETURN_IF_ERROR(arrivals_->Put(static_cast<GpuContext*>(context_)->stream(),
                                      device.raw_data(), host.raw_data(), BytesOf(device)));
  return device;
}

Tensor DeviceTwin::Place(int64_t samples) const {
  return twin_.empty() ? Tensor() : twin_.Samples(0, samples, TensorFormat::kNHWC);
}

absl::StatusOr<HostTwin> HostTwin::Create(DeviceContext& context, DType dtype,
                                          const Shape& largest) {
  HostTwin twin;
  twin.context_ = &context;
  if (context.device().is_cpu()) return twin;
  DTNN_ASSIGN_OR_RETURN(twin.twin_, Tensor::Zeros(dtype, largest));
  return twin;
}

absl::StatusOr<Tensor> HostTwin::Get(const Tensor& device) const {
  if (twin_.empty()) return device;
  const Tensor host = FirstOf(twin_, device);
  DTNN_RETURN_IF_ERROR(context_->Copy(device, host));
  return host;
}

}  // namespace dtnn
