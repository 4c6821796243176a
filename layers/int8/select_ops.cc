#include "layers/int8/select_ops.h"

#include <algorithm>
#include <cstring>

#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class InferenceOp : public LayerOp {
 public:
  absl::Status Backward(const BackwardArgs&) override {
    return absl::FailedPreconditionError("8 bits are for inference");
  }
};

class Int8MaxPoolOp : public InferenceOp {
 public:
  explicit Int8MaxPoolOp(const PoolSpec& spec) : spec_(spec) {}

  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override {
    const Tensor &x = args.inputs[0], &y = args.output;
    ParallelFor(0, y.shape()[0] * spec_.out_height(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(x, y, row);
    });
    return absl::OkStatus();
  }

 private:
  // Row `row` of all images. A window has pixels in the image (PoolSpec::Validate).
  void Row(const Tensor& x, const Tensor& y, int64_t row) const {
    const int64_t image = row / spec_.out_height(), width = spec_.out_width();
    const int64_t top = row % spec_.out_height() * spec_.stride.vertical - spec_.padding.vertical;
    const uint8_t* const pixels =
        x.data<uint8_t>() + image * spec_.height * spec_.width * x.PixelPitch();
    for (int64_t i = 0; i < width; ++i) {
      uint8_t* const to = y.data<uint8_t>() + (row * width + i) * y.PixelPitch();
      const int64_t left = i * spec_.stride.horizontal - spec_.padding.horizontal;
      std::memset(to, 0, size_t(spec_.channels));
      for (int64_t v = 0; v < spec_.window.vertical; ++v) {
        for (int64_t h = 0; h < spec_.window.horizontal; ++h) {
          const int64_t py = top + v * spec_.dilation.vertical;
          const int64_t px = left + h * spec_.dilation.horizontal;
          if (py < 0 || py >= spec_.height || px < 0 || px >= spec_.width) continue;
          const uint8_t* const from = pixels + (py * spec_.width + px) * x.PixelPitch();
          for (int64_t c = 0; c < spec_.channels; ++c) to[c] = std::max(to[c], from[c]);
        }
      }
    }
  }

  PoolSpec spec_;
};

class Int8ConcatenationOp : public InferenceOp {
 public:
  LayerOpTraits traits() const override { return {.joins_channels = true}; }
  absl::Status Forward(const ForwardArgs& args) override {
    const Tensor& y = args.output;
    std::byte* to = y.raw_data();
    for (const Tensor& x : args.inputs) {
      const int64_t channels = x.shape()[3], pixels = x.num_elements() / channels;
      if (x.raw_data() != to) {  // else it is there already
        ParallelFor(0, pixels, 64, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            std::memcpy(to + i * y.PixelPitch(), x.raw_data() + i * x.PixelPitch(),
                        size_t(channels));
          }
        });
      }
      to += channels;
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<LayerOp> CreateInt8MaxPoolOp(const PoolSpec& spec) {
  return std::make_unique<Int8MaxPoolOp>(spec);
}

std::unique_ptr<LayerOp> CreateInt8ConcatenationOp() {
  return std::make_unique<Int8ConcatenationOp>();
}

}  // namespace dtnn
