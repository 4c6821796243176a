#include "data/datasets/synthetic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/rounding.h"
#include "tensor/shape.h"

namespace dtnn {
namespace {

constexpr int64_t kTile = 4;

// The bytes of a random stream, read mostly forwards.
class RandomBytes {
 public:
  RandomBytes(uint64_t seed, uint64_t stream) : random_(seed, stream) {}

  uint8_t operator[](uint64_t i) {
    if (i / 16 != held_) block_ = random_.Block(held_ = i / 16);
    return uint8_t(block_[i / 4 % 4] >> (i % 4 * 8));
  }

 private:
  Philox random_;
  std::array<uint32_t, 4> block_ = {};
  uint64_t held_ = std::numeric_limits<uint64_t>::max();
};

// Streams of the classes' pictures and of the two parts' noise.
uint64_t PictureStream(int64_t label) {
  return StreamId(RandomPurpose::kSynthetic, uint64_t(label));
}
uint64_t NoiseStream(Split split, int64_t index) {
  return StreamId(RandomPurpose::kSynthetic,
                  (split == Split::kTrain ? uint64_t{1} : uint64_t{2}) << 54 | uint64_t(index));
}

class Synthetic : public Dataset {
 public:
  explicit Synthetic(const SyntheticOptions& options) : options_(options) {}

  std::string_view name() const override { return "synthetic"; }
  ImageExtents sample() const override { return options_.sample; }
  int64_t outputs() const override { return options_.classes; }
  int64_t size(Split split) const override {
    return split == Split::kTrain ? options_.train_samples : options_.test_samples;
  }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    int32_t* labels = targets.data<int32_t>();
    const int64_t elements = SampleShape(options_.sample, format).NumElements();
    DispatchFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* to = x.data<T>();
      if (options_.pattern == SyntheticPattern::kZeros) {
        std::fill_n(to, x.num_elements(), T(0));
        std::fill_n(labels, indices.size(), 0);
        return;
      }
      for (size_t i = 0; i < indices.size(); ++i, to += elements) {
        labels[i] = int32_t(indices[i] % options_.classes);
        Draw(RandomBytes(options_.seed, PictureStream(labels[i])),
             RandomBytes(options_.seed, NoiseStream(split, indices[i])), format, to);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Pixels are numbered in NHWC order whatever the format, so that a sample is the same in both.
  template <typename T>
  void Draw(RandomBytes picture, RandomBytes noise, TensorFormat format, T* to) const {
    const auto [height, width, channels] = options_.sample;
    const bool nhwc = format == TensorFormat::kNHWC;
    const int64_t pixel_step = nhwc ? channels : 1, channel_step = nhwc ? 1 : height * width;
    const int64_t tiles = CeilDiv(width, kTile);
    for (int64_t h = 0; h < height; ++h) {
      for (int64_t w = 0; w < width; ++w) {
        const int64_t pixel = h * width + w;
        const int64_t tile = h / kTile * tiles + w / kTile;
        for (int64_t c = 0; c < channels; ++c) {
          const int sum = picture[tile * channels + c] + noise[pixel * channels + c];
          to[pixel * pixel_step + c * channel_step] = T(sum / 2) * (T(1) / 255);
        }
      }
    }
  }

  const SyntheticOptions options_;
};

absl::Status Check(const SyntheticOptions& options) {
  const auto [height, width, channels] = options.sample;
  const std::vector<int64_t> extents = {height, width, channels};
  if (std::min({height, width, channels}) < 1 || !Shape::Make(extents).ok()) {
    return InvalidArgument(
        "synthetic samples of ", channels, " channels, height ", height, " and width ", width,
        " are not possible; expected 1 or more of each, and fewer than 2^63 values");
  }
  if (options.classes < 1 || options.classes > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("synthetic data need 1 to 2^31 - 1 classes, not ", options.classes);
  }
  constexpr int64_t kMost = int64_t{1} << 53;
  for (int64_t samples : {options.train_samples, options.test_samples}) {
    if (samples < 0 || samples > kMost) {
      return InvalidArgument("the number of synthetic samples must be 0 to 2^53, not ", samples);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> MakeSynthetic(const SyntheticOptions& options) {
  DTNN_RETURN_IF_ERROR(Check(options));
  return std::make_unique<Synthetic>(options);
}

}  // namespace dtnn
