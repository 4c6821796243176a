#include "data/transforms/transform.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_split.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// The shortest text that reads back as the same number.
std::string NumberText(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

std::string ValueText(const TransformParameter& parameter, double value) {
  if (parameter.words.empty()) return NumberText(value);
  const std::vector<std::string> words = absl::StrSplit(std::string(parameter.words), ',');
  const bool known = value >= 0 && value < double(words.size());
  return known ? words[size_t(value)] : NumberText(value);
}

// How many before transform `i` are of its kind.
uint8_t RepeatOf(const TransformList& transforms, size_t i) {
  uint8_t repeat = 0;
  for (size_t j = 0; j < i; ++j) repeat += &transforms[j]->kind() == &transforms[i]->kind();
  return repeat;
}

// The random numbers of transform `i`.
SampleRandom RandomOf(const TransformList& transforms, size_t i, uint64_t seed, int64_t epoch,
                      int64_t place) {
  return SampleRandom(seed, epoch, place, transforms[i]->kind().stream, RepeatOf(transforms, i));
}

template <typename T>
void ApplyAll(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
              const SampleImage<T>& image) {
  for (size_t i = 0; i < transforms.size(); ++i) {
    transforms[i]->Apply(image, RandomOf(transforms, i, seed, epoch, place));
  }
}

}  // namespace

SampleRandom::SampleRandom(uint64_t seed, int64_t epoch, int64_t place, uint16_t stream,
                           uint8_t repeat)
    : philox_(seed,
              StreamId(RandomPurpose::kAugment, uint64_t{uint32_t(epoch)} | uint64_t{stream} << 32 |
                                                    uint64_t{repeat} << 48)),
      place_(uint64_t(place)) {}

// Two blocks of four lie side by side for every place; those after them are far away, so that their
// number has no limit.
uint32_t SampleRandom::Bits(int i) const {
  const uint64_t block = uint64_t(i) / 4;
  return philox_.Block((block / 2) << 48 | (2 * place_ + block % 2))[size_t(i) % 4];
}

std::string ToString(const Transform& transform) {
  std::string text(transform.kind().name);
  for (size_t i = 0; i < transform.values().size(); ++i) {
    StrAppend(&text, ":", ValueText(transform.kind().parameters[i], transform.values()[i]));
  }
  return text;
}

std::vector<std::string> ToStrings(const TransformList& transforms) {
  std::vector<std::string> texts;
  for (const auto& transform : transforms) texts.push_back(ToString(*transform));
  return texts;
}

absl::Status CheckParameters(const TransformKind& kind, std::span<const double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const TransformParameter& parameter = kind.parameters[i];
    const double value = values[i];
    if (value >= parameter.low && value <= parameter.high &&
        (!parameter.whole || value == std::floor(value))) {
      continue;
    }
    return InvalidArgument(kind.name, ": the ", parameter.name, " must be ",
                           parameter.whole ? "a whole number" : "a number", " from ",
                           NumberText(parameter.low), " to ", NumberText(parameter.high), ", not ",
                           NumberText(value));
  }
  return absl::OkStatus();
}

absl::Status CheckTransforms(const TransformList& transforms, const ImageExtents& extents,
                             const Preprocessing& data) {
  constexpr size_t kMost = 64;
  if (transforms.size() > kMost) {
    return InvalidArgument("a list of ", transforms.size(), " transforms is too long; up to ",
                           kMost, " are possible");
  }
  constexpr int64_t kLongestSide = int64_t{1} << 30;  // places are 32 bits
  if (!transforms.empty() && std::max(extents.height, extents.width) > kLongestSide) {
    return InvalidArgument("samples of ", ToString(extents),
                           " are too large for transforms; sides of up to 2^30 are possible");
  }
  for (const auto& transform : transforms) {
    DTNN_RETURN_IF_ERROR(CheckParameters(transform->kind(), transform->values()));
    DTNN_RETURN_IF_ERROR(transform->Fits(extents, data));
  }
  return absl::OkStatus();
}

absl::Status CheckMovesLabels(const TransformList& transforms) {
  for (const auto& transform : transforms) {
    if (transform->moves_pixels() || transform->keeps_places()) continue;
    return InvalidArgument(ToString(*transform),
                           ": computes values of neighbours, or a mean, which labels of pixels do "
                           "not have; those that move pixels (flip, crop, pad_crop, cutout with "
                           "zero) and color_jitter fit");
  }
  return absl::OkStatus();
}

void DrawChanges(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                 const ImageExtents& extents, PixelChange* changes) {
  for (size_t i = 0; i < transforms.size(); ++i) {
    changes[i] = transforms[i]->Change(extents, RandomOf(transforms, i, seed, epoch, place));
  }
}

void ApplyTransforms(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                     const SampleImage<float>& image) {
  ApplyAll(transforms, seed, epoch, place, image);
}

void ApplyTransforms(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                     const SampleImage<double>& image) {
  ApplyAll(transforms, seed, epoch, place, image);
}

void MoveLabels(const TransformList& transforms, uint64_t seed, int64_t epoch, int64_t place,
                const SampleImage<float>& labels) {
  for (size_t i = 0; i < transforms.size(); ++i) {
    if (!transforms[i]->moves_pixels()) continue;
    transforms[i]->Apply(labels, RandomOf(transforms, i, seed, epoch, place));
  }
}

}  // namespace dtnn
