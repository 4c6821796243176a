#include "kernels/gpu/runner.h"
#include "kernels/update/gate_bodies.h"
#include "kernels/update/gate_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

class UpdateGateGpu : public UpdateGate {
 public:
  UpdateGateGpu(DeviceContext& context, DType dtype, double limit)
      : UpdateGate(context, dtype, limit), runner_(context) {}

  absl::Status Watch(const Tensor& losses) override {
    DTNN_RETURN_IF_ERROR(CheckWatch(losses));
    return DispatchFloating(dtype_, [&]<typename T>(T) {
      return runner_.ForEachRow(
          "watch losses", 1,
          WatchBody<T>{losses.data<T>(), losses.num_elements(), gates_.closed.data<int32_t>()});
    });
  }
  absl::Status Clip(const Tensor& squares) override {
    DTNN_RETURN_IF_ERROR(CheckClip(squares));
    return runner_.ForEach("clip", 1,
                           ClipBody{squares.data<double>(), scale_.tensor().data<double>(), limit_,
                                    norm_.data<double>(), gates_.factor.data<double>()});
  }

 private:
  GpuRunner runner_;
};

std::unique_ptr<UpdateGate> CreateUpdateGateGpu(DeviceContext& context, DType dtype, double limit) {
  return std::make_unique<UpdateGateGpu>(context, dtype, limit);
}

}  // namespace dtnn
