#include "kernels/pool/pool_cpu.h"

#include "absl/strings/str_cat.h"
#include "kernels/operand.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

absl::Status CheckImages(const char* name, const Tensor& tensor, const Shape& expected, DType dtype,
                         int64_t batch, Pitch pitch) {
  return CheckOperand("pool", name, tensor, Device::Cpu(), dtype,
                      expected.DropFirst().Prepend(batch), pitch);
}

int64_t GrainOf(int64_t elements) { return std::max<int64_t>(1, kCopyGrain / elements); }

class PoolCpu : public Pool {
 public:
  explicit PoolCpu(const PoolSpec& spec) : pass_(PassFor(spec)), dtype_(spec.dtype) {}

  absl::Status Forward(const Tensor& x, const Tensor& y, const Tensor& winners) override {
    DTNN_RETURN_IF_ERROR(Check("x", x, "y", y, winners, false));
    PoolPass pass = pass_;
    Place(pass, x, y, winners);
    const int64_t batch = x.shape()[0], window = Taps();
    if (AsPlanes(pass)) {
      ParallelFor(0, batch * pass.spec.channels, GrainOf(Map(pass) * window),
                  [&](int64_t begin, int64_t end) { PoolForwardNchw(pass, begin, end); });
    } else {
      const int64_t row = pass.out_width * pass.spec.channels;
      ParallelFor(0, batch * pass.out_height, GrainOf(row * window),
                  [&](int64_t begin, int64_t end) { PoolForwardNhwc(pass, begin, end); });
    }
    return absl::OkStatus();
  }

  absl::Status Backward(const Tensor& dy, const Tensor& winners, const Tensor& dx,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(Check("dx", dx, "dy", dy, winners, !pass_.average()));
    PoolPass pass = pass_;
    Place(pass, dx, dy, winners);
    pass.accumulate = accumulate;
    const int64_t batch = dx.shape()[0], plane = pass.spec.height * pass.spec.width;
    if (AsPlanes(pass)) {
      ParallelFor(0, batch * pass.spec.channels, GrainOf(plane),
                  [&](int64_t begin, int64_t end) { PoolBackwardNchw(pass, begin, end); });
    } else {
      const int64_t units = pass.Is2x2() ? pass.out_height : pass.spec.height;
      ParallelFor(0, batch * units, GrainOf(plane * pass.spec.channels / units),
                  [&](int64_t begin, int64_t end) { PoolBackwardNhwc(pass, begin, end); });
    }
    return absl::OkStatus();
  }

 private:
  static PoolPass PassFor(const PoolSpec& spec) {
    PoolPass pass;
    pass.spec = spec;
    pass.out_height = spec.out_height();
    pass.out_width = spec.out_width();
    const auto reach = [](int64_t window, int64_t dilation) { return dilation * (window - 1) + 1; };
    pass.disjoint =
        spec.stride.vertical >= reach(spec.window.vertical, spec.dilation.vertical) &&
        spec.stride.horizontal >= reach(spec.window.horizontal, spec.dilation.horizontal);
    return pass;
  }

  absl::Status Check(const char* in_name, const Tensor& in, const char* out_name, const Tensor& out,
                     const Tensor& winners, bool winners_needed) const {
    const PoolSpec& spec = pass_.spec;
    const int64_t batch = in.shape().rank() == 4 ? in.shape()[0] : 0;
    if (batch > spec.batch) {
      return absl::InvalidArgumentError(absl::StrCat("pool ", spec.ToString(), ": a batch of ",
                                                     batch, ", expected at most ", spec.batch));
    }
    DTNN_RETURN_IF_ERROR(
        CheckImages(in_name, in, spec.InputShape(), dtype_, batch, Pitch::kAllowed));
    DTNN_RETURN_IF_ERROR(
        CheckImages(out_name, out, spec.OutputShape(), dtype_, batch, Pitch::kAllowed));
    if (pass_.average() || (winners.empty() && !winners_needed)) return absl::OkStatus();
    return CheckImages("winners", winners, spec.OutputShape(), spec.WinnerDType(), batch,
                       Pitch::kNone);
  }

  int64_t Taps() const { return pass_.spec.window.vertical * pass_.spec.window.horizontal; }
  static int64_t Map(const PoolPass& pass) { return pass.out_height * pass.out_width; }

  static void Place(PoolPass& pass, const Tensor& in, const Tensor& out, const Tensor& winners) {
    const bool pixels = pass.spec.format == TensorFormat::kNHWC;
    pass.in = {in.raw_data(), pixels ? in.PixelPitch() : in.ImagePitch()};
    pass.out = {out.raw_data(), pixels ? out.PixelPitch() : out.ImagePitch()};
    pass.winners = pass.average() || winners.empty() ? nullptr : winners.raw_data();
  }

  // Images of one channel are the same in both formats, and planes are the faster way to see them.
  static bool AsPlanes(PoolPass& pass) {
    if (pass.spec.format == TensorFormat::kNCHW) return true;
    if (pass.spec.channels > 1 || pass.in.pitch > 1 || pass.out.pitch > 1) return false;
    pass.in.pitch = pass.spec.height * pass.spec.width;
    pass.out.pitch = Map(pass);
    return true;
  }

  const PoolPass pass_;
  const DType dtype_;
};

}  // namespace

std::unique_ptr<Pool> CreatePoolCpu(const PoolSpec& spec) {
  return std::make_unique<PoolCpu>(spec);
}

}  // namespace dtnn
