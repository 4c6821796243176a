// A random change to a training sample, so that a network sees more than there is. Each has a small
// file of its own (flip.h, pad_crop.h, ...); the loader applies a list of them in order:
//
//   LoaderOptions options = {.transforms = {Flip(), PadCrop({.padding = 4}), Cutout({.size = 8})}};
//
// A transform changes the values of one sample and keeps its extents, since validation and test
// samples, which are never transformed, have those too. It sees values as the data set gives them,
// before normalisation: byte / 255 for images.
//
// What it draws is a function of (seed, epoch, place in the epoch's order) alone: the same for any
// batch size, number of ranks and of threads, and after a restart.

#ifndef DTNN_DATA_TRANSFORMS_TRANSFORM_H_
#define DTNN_DATA_TRANSFORMS_TRANSFORM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/preprocessing.h"
#include "kernels/byte_images/pixel_change.h"
#include "tensor/format.h"
#include "tensor/philox.h"

namespace dtnn {

// The random numbers of one transform for one sample; number i is always the same.
class SampleRandom {
 public:
  // `stream` tells the transforms of a list apart, `repeat` those of one kind.
  SampleRandom(uint64_t seed, int64_t epoch, int64_t place, uint16_t stream, uint8_t repeat = 0);

  // Uniform in [0, 1), in [low, high), and in 0 .. bound - 1 (bound < 2^32).
  double Uniform(int i) const { return Philox::ToUnit(Bits(i)); }
  double Between(int i, double low, double high) const { return low + Uniform(i) * (high - low); }
  int64_t Below(int i, int64_t bound) const {
    return int64_t((uint64_t{Bits(i)} * uint64_t(bound)) >> 32);
  }

 private:
  uint32_t Bits(int i) const;

  Philox philox_;
  uint64_t place_;
};

// T: float or double.
template <typename T>
struct SampleImage {
  T* values = nullptr;   // dense, extents in `format`
  T* scratch = nullptr;  // room for as many, with any contents
  ImageExtents extents = {};
  TensorFormat format = TensorFormat::kNHWC;
  Preprocessing::Input input = Preprocessing::Input::kBytes;  // what the values are

  int64_t size() const { return extents.height * extents.width * extents.channels; }
};

class Transform;

// A parameter of a transform, as the flag --augment takes it.
struct TransformParameter {
  std::string_view name = {};
  std::string_view meaning = {};  // with its unit
  double standard = 0;            // when it is not given
  double low = 0, high = 0;       // the smallest and the largest value
  bool whole = false;             // only whole numbers
  std::string_view words = {};    // comma list; the value is a word's position in it, from 0
};

// What all transforms of one class share.
struct TransformKind {
  std::string_view name = {};    // "pad_crop"
  std::string_view effect = {};  // one line
  // Of its random numbers. No two kinds have the same, so a change to a list never shifts the
  // numbers of the others in it. Up to 99 are the library's own.
  uint16_t stream = 0;
  std::span<const TransformParameter> parameters = {};
  // From a value for each parameter. Only for kinds that the flag knows (transform_list.h).
  std::shared_ptr<const Transform> (*make)(std::span<const double> values) = nullptr;
};

class Transform {
 public:
  // `values` of kind.parameters; they are checked by CheckTransforms. The kind must live for ever.
  Transform(const TransformKind& kind, std::vector<double> values)
      : kind_(kind), values_(std::move(values)) {}
  virtual ~Transform() = default;
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  const TransformKind& kind() const { return kind_; }
  std::span<const double> values() const { return values_; }

  // InvalidArgument where it cannot be applied to samples of such extents and preprocessing.
  virtual absl::Status Fits(const ImageExtents& extents, const Preprocessing& data) const {
    static_cast<void>(extents), static_cast<void>(data);
    return absl::OkStatus();
  }
  // Whether all that it does to a sample is Change, at which byte 0 stands for 0: then it can be
  // done to bytes, and on a GPU (kernels/byte_images).
  virtual bool moves_pixels() const { return false; }
  virtual PixelChange Change(const ImageExtents& extents, const SampleRandom& random) const {
    static_cast<void>(extents), static_cast<void>(random);
    return {};
  }
  // Whether it changes values where they are, so that labels of pixels stay true.
  virtual bool keeps_places() const { return false; }
  // Must not allocate.
  virtual void Apply(const SampleImage<float>& image, const SampleRandom& random) const = 0;
  virtual void Apply(const SampleImage<double>& image, const SampleRandom& random) const = 0;

 private:
  const TransformKind& kind_;
  const std::vector<double> values_;
};

// For a class D with a member `template <typename T> void Run(image, random) const`.
template <typename D>
class TransformOf : public Transform {
 public:
  using Transform::Transform;
  void Apply(const SampleImage<float>& image, const SampleRandom& random) const final {
    static_cast<const D*>(this)->Run(image, random);
  }
  void Apply(const SampleImage<double>& image, const SampleRandom& random) const final {
    static_cast<const D*>(this)->Run(image, random);
  }
};

using TransformList = std::vector<std::shared_ptr<const Transform>>;

// Its name and all its parameters, "pad_crop:4:zero", as --augment takes it. Equal texts mean equal
// transforms.
std::string ToString(const Transform& transform);
std::vector<std::string> ToStrings(const TransformList& transforms);

// InvalidArgument for a value out of its range.
absl::Status CheckParameters(const TransformKind& kind, std::span<const double> values);
// InvalidArgument for such a value, and for a transform that does not fit the samples of a data set
// with this preprocessing.
absl::Status CheckTransforms(const TransformList& transforms, const ImageExtents& extents,
                             const Preprocessing& data);

// InvalidArgument for one that labels of pixels cannot follow: it neither moves pixels nor keeps
// their places.
absl::Status CheckMovesLabels(const TransformList& transforms);

// What each of them, all of which move pixels, does to the sample at `place` of the order of
// `epoch`, into as many `changes`.
void DrawChanges(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                 const ImageExtents& extents, PixelChange* changes);
// All of them, one after the other, to that sample.
void ApplyTransforms(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                     const SampleImage<float>& image);
void ApplyTransforms(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                     const SampleImage<double>& image);
// What those of them that move pixels did to that sample's image, to the labels of its pixels, one
// channel of them as values: what comes to have no pixel of the image becomes 0.
void MoveLabels(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                const SampleImage<float>& labels);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_TRANSFORM_H_
