#include "layers/int8/select_ops.h"

#include <cstring>

#include "kernels/pool/byte_max_pool.h"
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
    MaxPoolBytes(spec_, args.inputs[0], args.output);
    return absl::OkStatus();
  }

 private:
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
