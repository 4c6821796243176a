#include "data/preprocessing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using nlohmann::json;
using Input = Preprocessing::Input;

struct Words {
  Input input;
  const char *x, *channels;
};
constexpr Words kWords[] = {{Input::kBytes, "byte / 255", "RGB"},
                            {Input::kBgr, "byte / 255", "BGR"},
                            {Input::kValues, "as in the data", ""},
                            {Input::kBgrBytes, "byte", "BGR"}};

const Words& WordsOf(Input input) {
  for (const Words& words : kWords) {
    if (words.input == input) return words;
  }
  return kWords[0];
}

absl::Status Unknown(std::string_view text) {
  constexpr size_t kShown = 200;
  return InvalidArgument(
      "describes its preprocessing in a way that this version does not understand: ",
      text.substr(0, kShown));
}

// False unless it is there and a list of numbers.
bool Read(const json& object, const char* key, std::vector<double>& numbers) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return false;
  for (const json& number : *found) {
    if (!number.is_number()) return false;
    numbers.push_back(number.get<double>());
  }
  return true;
}

bool IsText(const json& object, const char* key, const char* text) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() && *found == text;
}

double At(const std::vector<double>& values, int64_t channel, double none) {
  if (values.empty()) return none;
  return values.size() == 1 ? values[0] : values[size_t(channel)];
}

nlohmann::ordered_json Written(const Geometry& geometry, const char* key,
                               const nlohmann::ordered_json& value) {
  nlohmann::ordered_json written = {
      {"crop", geometry.crop}, {"resize", geometry.resize}, {key, value}};
  if (geometry.square) written["square"] = true;
  return written;
}

nlohmann::ordered_json Written(const ImageGeometry& image) {
  auto written = Written(image.geometry, "of", image.of_values ? "values" : "bytes");
  if (image.side > 0) written["then"] = Written(image.then, "side", image.side);
  return written;
}

std::optional<Geometry> ReadGeometry(const json& object) {
  const auto crop = object.find("crop"), resize = object.find("resize");
  const auto square = object.find("square"), missing = object.end();
  if (crop == missing || resize == missing || !crop->is_number() || !resize->is_number_integer() ||
      (square != missing && !square->is_boolean())) {
    return std::nullopt;
  }
  return Geometry{.square = square != missing && square->get<bool>(),
                  .crop = crop->get<double>(),
                  .resize = resize->get<int64_t>()};
}

std::optional<ImageGeometry> ReadImageGeometry(const json& object) {
  const std::optional<Geometry> geometry = ReadGeometry(object);
  const bool of_values = IsText(object, "of", "values");
  if (!geometry || !(of_values || IsText(object, "of", "bytes"))) return std::nullopt;
  ImageGeometry image = {.geometry = *geometry, .of_values = of_values};
  const auto then = object.find("then");
  if (then == object.end()) return image;
  const std::optional<Geometry> second = then->is_object() ? ReadGeometry(*then) : std::nullopt;
  const auto side = then->is_object() ? then->find("side") : then->end();
  if (!second || side == then->end() || !side->is_number_integer()) return std::nullopt;
  image.side = side->get<int64_t>();
  image.then = *second;
  if (image.side < 1 || image.side > geometry->resize) return std::nullopt;
  return image;
}

absl::Status CheckImageGeometry(const ImageGeometry& image) {
  DTNN_RETURN_IF_ERROR(CheckGeometry(image.geometry));
  if (image.side == 0) return absl::OkStatus();
  if (const int64_t side = image.geometry.resize; side > kMostResized) {
    return InvalidArgument("the images of a data set that are cropped or resized once more are at ",
                           "most ", kMostResized, " x ", kMostResized, ", not ", side, " x ", side);
  }
  return CheckGeometry(image.then);
}

// Both normalisations as one of byte / 255, unless x are values of the data.
Normalization Whole(const Preprocessing& preprocessing) {
  Normalization whole = Then(preprocessing.normalization, preprocessing.then);
  if (preprocessing.input != Input::kBgrBytes) return whole;
  return Then({.offset = {0}, .scale = {255}}, whole);
}

std::string Describe(const Geometry& geometry) {
  const auto& [square, crop, resize] = geometry;
  std::string text;
  if (square) StrAppend(&text, ", the square in the middle");
  if (crop != 1) StrAppend(&text, ", ", 100 * crop, " % of each side");
  if (resize > 0) StrAppend(&text, ", resized to ", resize, " x ", resize);
  return text;
}

std::string Describe(const Normalization& normalization) {
  return StrCat(", offset ", absl::StrJoin(normalization.offset, "/"), ", scale ",
                absl::StrJoin(normalization.scale, "/"));
}

}  // namespace

void AddNormalization(const Normalization& by, Preprocessing& preprocessing) {
  if (!preprocessing.normalization.any()) {
    preprocessing.normalization = by;
  } else {
    preprocessing.then = Then(preprocessing.then, by);
  }
}

void ReplaceCrop(bool square, double crop, ImageGeometry& image) {
  if (!square && crop == 0) return;
  if (square) image.geometry.square = true;
  if (crop > 0) image.geometry.crop = crop;
  image.then.square = false;
  image.then.crop = 1;
}

std::string ToJson(const Preprocessing& preprocessing) {
  const Words& words = WordsOf(preprocessing.input);
  nlohmann::ordered_json object;
  object["x"] = words.x;
  object["channels"] = words.channels;
  object["offset"] = preprocessing.normalization.offset;
  object["scale"] = preprocessing.normalization.scale;
  if (preprocessing.then.any()) {
    object["then"] = {{"offset", preprocessing.then.offset}, {"scale", preprocessing.then.scale}};
  }
  if (preprocessing.geometry) object["geometry"] = Written(*preprocessing.geometry);
  return object.dump();
}

absl::StatusOr<Preprocessing> ParsePreprocessing(std::string_view text, int64_t channels) {
  if (text.find('\0') != text.npos) return Unknown(text);  // where the parser would stop
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Unknown(text);
  for (const Words& words : kWords) {
    if (!IsText(object, "x", words.x) || !IsText(object, "channels", words.channels)) continue;
    Preprocessing preprocessing = {.input = words.input};
    Normalization& normalization = preprocessing.normalization;
    if (!Read(object, "offset", normalization.offset) ||
        !Read(object, "scale", normalization.scale)) {
      return Unknown(text);
    }
    DTNN_RETURN_IF_ERROR(CheckNormalization(normalization, channels));
    const auto then = object.find("then"), geometry = object.find("geometry");
    if (then != object.end()) {
      if (!then->is_object() || !Read(*then, "offset", preprocessing.then.offset) ||
          !Read(*then, "scale", preprocessing.then.scale)) {
        return Unknown(text);
      }
      DTNN_RETURN_IF_ERROR(CheckNormalization(preprocessing.then, channels));
    }
    if (geometry != object.end()) {
      if (geometry->is_object()) preprocessing.geometry = ReadImageGeometry(*geometry);
      if (!preprocessing.geometry) return Unknown(text);
      DTNN_RETURN_IF_ERROR(CheckImageGeometry(*preprocessing.geometry));
    }
    return preprocessing;
  }
  return Unknown(text);
}

std::optional<Geometry> GeometryToOpenWith(const Preprocessing& preprocessing,
                                           const ImageExtents& sample) {
  if (!preprocessing.geometry) return std::nullopt;
  if (preprocessing.geometry->side > 0) return preprocessing.geometry->then;
  const Geometry& geometry = preprocessing.geometry->geometry;
  const bool larger =
      geometry.resize > 0 && geometry.resize != std::max(sample.height, sample.width);
  return larger ? std::nullopt : std::optional(geometry);
}

ImageExtents ExtentsToOpenWith(const Preprocessing& preprocessing, const ImageExtents& sample) {
  const int64_t side = preprocessing.geometry ? preprocessing.geometry->side : 0;
  return side > 0 ? ImageExtents{side, side, sample.channels} : sample;
}

bool SamePreprocessing(const Preprocessing& a, const Preprocessing& b, int64_t channels) {
  constexpr double kRounding = 1e-6;
  const auto close = [](double x, double y) {
    return std::abs(x - y) <= kRounding * std::max({1.0, std::abs(x), std::abs(y)});
  };
  const Normalization of_a = Whole(a), of_b = Whole(b);
  for (int64_t c = 0; c < channels; ++c) {
    if (!close(At(of_a.offset, c, 0), At(of_b.offset, c, 0)) ||
        !close(At(of_a.scale, c, 1), At(of_b.scale, c, 1))) {
      return false;
    }
  }
  if (a.geometry && b.geometry && *a.geometry != *b.geometry) return false;
  const auto order = [](Input input) { return input == Input::kBgrBytes ? Input::kBgr : input; };
  return order(a.input) == order(b.input);
}

std::string Describe(const Preprocessing& preprocessing) {
  std::string text = WordsOf(preprocessing.input).x;
  const Input input = preprocessing.input;
  if (input == Input::kBgr || input == Input::kBgrBytes) text += " as blue, green, red";
  const Normalization& normalization = preprocessing.normalization;
  text += normalization.any() ? Describe(normalization) : ", not normalised";
  if (preprocessing.then.any()) text += ", then" + Describe(preprocessing.then).substr(1);
  if (preprocessing.geometry) {
    const ImageGeometry& image = *preprocessing.geometry;
    text += Describe(image.geometry);
    if (image.side > 0) {
      StrAppend(&text, ", of the ", image.side, " x ", image.side, " in the middle",
                Describe(image.then));
    }
  }
  return text;
}

}  // namespace dtnn
