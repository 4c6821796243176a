#include "kernels/context.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#ifdef DTNN_WITH_CUDA
#include "kernels/cuda_context.h"
#endif

namespace dtnn {
namespace {

class CpuContext : public DeviceContext {
 public:
  CpuContext() : DeviceContext(Device::Cpu()) {}
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceContext>> DeviceContext::Create(Device device) {
  if (device.is_cpu()) return std::make_unique<CpuContext>();
#ifdef DTNN_WITH_CUDA
  return CudaContext::Create(device);
#else
  return absl::UnimplementedError(absl::StrCat("this build has no GPU support, so ",
                                               device.ToString(),
                                               " cannot be used; build with --config=cuda"));
#endif
}

absl::Status DeviceContext::Copy(const Tensor& from, const Tensor& to) {
  std::memcpy(to.raw_data(), from.raw_data(), size_t(from.num_elements()) * SizeOf(from.dtype()));
  return absl::OkStatus();
}

absl::Status DeviceContext::FillZero(const Tensor& tensor) {
  std::memset(tensor.raw_data(), 0, size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
  return absl::OkStatus();
}

}  // namespace dtnn
