#include "data/formats/tf_example.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/formats/tf_example.pb.h"

namespace dtnn {
namespace {

constexpr char kEncoded[] = "image/encoded";
constexpr char kLabel[] = "image/class/label";

}  // namespace

absl::StatusOr<LabelledImage> ParseImageExample(std::span<const uint8_t> bytes,
                                                std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(name), ": ", std::string(what)));
  };
  proto::Example example;
  if (bytes.size() > size_t{1} << 30 || !example.ParseFromArray(bytes.data(), int(bytes.size()))) {
    return wrong("is not a tf.train.Example");
  }
  const auto& features = example.features().feature();
  const auto encoded = features.find(kEncoded), label = features.find(kLabel);
  if (encoded == features.end() || encoded->second.bytes_list().value_size() != 1) {
    return wrong(absl::StrCat("has no feature \"", kEncoded, "\" of one image"));
  }
  if (label == features.end() || label->second.int64_list().value_size() != 1) {
    return wrong(absl::StrCat("has no feature \"", kLabel, "\" of one number"));
  }
  const std::string& image = encoded->second.bytes_list().value(0);
  return LabelledImage{{image.begin(), image.end()}, label->second.int64_list().value(0)};
}

std::vector<uint8_t> ImageExampleBytes(const LabelledImage& image) {
  proto::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features[kEncoded].mutable_bytes_list()->add_value(image.encoded.data(), image.encoded.size());
  features[kLabel].mutable_int64_list()->add_value(image.label);
  const std::string bytes = example.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

}  // namespace dtnn
