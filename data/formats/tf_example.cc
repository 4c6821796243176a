#include "data/formats/tf_example.h"

#include "data/formats/tf_example.pb.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr char kEncoded[] = "image/encoded";
constexpr char kLabel[] = "image/class/label";

}  // namespace

absl::StatusOr<LabelledImage> ParseImageExample(std::span<const uint8_t> bytes,
                                                std::string_view name) {
  const auto wrong = [&](std::string_view what) { return InvalidArgument(name, ": ", what); };
  proto::Example example;
  if (bytes.size() > size_t{1} << 30 || !example.ParseFromArray(bytes.data(), int(bytes.size()))) {
    return wrong("is not a tf.train.Example");
  }
  const auto& features = example.features().feature();
  const auto encoded = features.find(kEncoded), label = features.find(kLabel);
  if (encoded == features.end() || encoded->second.bytes_list().value_size() != 1) {
    return wrong(StrCat("has no feature \"", kEncoded, "\" of one image"));
  }
  if (label == features.end() || label->second.int64_list().value_size() != 1) {
    return wrong(StrCat("has no feature \"", kLabel, "\" of one number"));
  }
  const std::string& image = encoded->second.bytes_list().value(0);
  return LabelledImage{{image.begin(), image.end()}, label->second.int64_list().value(0)};
}

}  // namespace dtnn
