// What a network was shown of an image, told in a few words that a file of weights can carry, so
// that who uses the network shows it the same.
//
//   value = (x + offset) * scale, per channel
//
// Crops and resizes are not told.

#ifndef DTNN_DATA_PREPROCESSING_H_
#define DTNN_DATA_PREPROCESSING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/transforms/normalize.h"

namespace dtnn {

struct Preprocessing {
  enum class Input : uint8_t {
    kBytes,   // x is byte / 255, of the colours red, green, blue, or of any channels there are
    kBgr,     // x is byte / 255 of the colours blue, green, red
    kValues,  // x is what the data hold: no image's bytes
  };
  Input input = Input::kBytes;
  Normalization normalization = {};
};

// JSON such as {"x":"byte / 255","channels":"RGB","offset":[-0.45],"scale":[3.75]}. Numbers come
// back as they are.
std::string ToJson(const Preprocessing& preprocessing);
// InvalidArgument for another text, an input that this version does not know included, and for a
// normalisation of another number of channels.
absl::StatusOr<Preprocessing> ParsePreprocessing(std::string_view json, int64_t channels);

// The same for all `channels`, which both fit, but for rounding: that of sums of float64 in another
// order.
bool SamePreprocessing(const Preprocessing& a, const Preprocessing& b, int64_t channels);

// For people: "byte / 255, offset -0.45, scale 3.75".
std::string Describe(const Preprocessing& preprocessing);

}  // namespace dtnn

#endif  // DTNN_DATA_PREPROCESSING_H_
