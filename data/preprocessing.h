// How training preprocessed images, as a short description that files of weights contain, so that
// the same is done when the network is used (models/serving/image_input.h).
//
//   1. geometry: the middle of the image, resized
//   2. x         bytes, or bytes / 255, in an order of colours
//   3. value = ((x + offset) * scale + then's offset) * then's scale, per channel; where a data set
//      has resized its images itself, the geometry of the training options comes between the two
//
// Numbers are those that training used, and steps are in its order, so that results are its own bit
// for bit.

#ifndef DTNN_DATA_PREPROCESSING_H_
#define DTNN_DATA_PREPROCESSING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/images/resize.h"
#include "data/normalize.h"
#include "tensor/format.h"

namespace dtnn {

// An image is cropped and resized. If it is still larger than the network's input, its middle is
// used; of an odd number of extra rows or columns, one more is removed at the end.
struct ImageGeometry {
  Geometry geometry = {};
  bool of_values = false;  // x is resized, not the bytes, which would be rounded
  // Of a data set whose images went through `geometry` before: of the middle, of `side` x `side`
  // pixels, the normalised values go through `then`. 0: they do not.
  int64_t side = 0;
  Geometry then = {};
  friend bool operator==(const ImageGeometry&, const ImageGeometry&) = default;
};

struct Preprocessing {
  enum class Input : uint8_t {
    kBytes,     // x is byte / 255, of the colours red, green, blue, or of any channels there are
    kBgr,       // x is byte / 255 of the colours blue, green, red
    kValues,    // x is what the data hold: no image's bytes
    kBgrBytes,  // x is the byte itself, of the colours blue, green, red
  };
  Input input = Input::kBytes;
  Normalization normalization = {};
  Normalization then = {};  // of the training options, if the data set has its own
  // nullopt: not known, as in files of older versions.
  std::optional<ImageGeometry> geometry = {};
};

// `by` after all that `preprocessing` does.
void AddNormalization(const Normalization& by, Preprocessing& preprocessing);

// The geometry that gives samples of extents `sample` when a data set is opened with it. nullopt if
// it is not known, or if samples are the middle of larger images: of a data set that cuts its own.
std::optional<Geometry> GeometryToOpenWith(const Preprocessing& preprocessing,
                                           const ImageExtents& sample);
// As large as a data set's own samples are, as far as is known: before `then`, which gives samples
// of extents `sample`. A data set of two sizes is opened with it.
ImageExtents ExtentsToOpenWith(const Preprocessing& preprocessing, const ImageExtents& sample);

// The longest side to which images are resized where that is not what the network takes: a file
// does not decide how much memory an image needs.
inline constexpr int64_t kMostResized = 4096;

// What is asked for takes the place of all that training cropped: a `square`, and a `crop` above 0.
void ReplaceCrop(bool square, double crop, ImageGeometry& image);

// JSON such as {"x":"byte / 255","channels":"RGB","offset":[-0.45],"scale":[3.75],
// "geometry":{"crop":0.875,"resize":224,"of":"bytes"}}. Numbers come back as they are.
std::string ToJson(const Preprocessing& preprocessing);
// InvalidArgument for any other text, including an unknown input, and for a normalisation of
// another number of channels.
absl::StatusOr<Preprocessing> ParsePreprocessing(std::string_view json, int64_t channels);

// Whether both are the same for all `channels`, except for the rounding of float64 sums in another
// order. Geometries are compared if both have one.
bool SamePreprocessing(const Preprocessing& a, const Preprocessing& b, int64_t channels);

// For people: "byte / 255, offset -0.45, scale 3.75, 87.5 % of each side, resized to 224 x 224".
std::string Describe(const Preprocessing& preprocessing);

}  // namespace dtnn

#endif  // DTNN_DATA_PREPROCESSING_H_
