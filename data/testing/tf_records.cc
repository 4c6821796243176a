#include "data/testing/tf_records.h"

#include <string>

#include "data/formats/tf_example.pb.h"
#include "data/formats/tf_record.h"

namespace dtnn::testing {

std::vector<uint8_t> ImageExampleBytes(const LabelledImage& image) {
  proto::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image/encoded"].mutable_bytes_list()->add_value(image.encoded.data(),
                                                            image.encoded.size());
  features["image/class/label"].mutable_int64_list()->add_value(image.label);
  const std::string bytes = example.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> TfRecordBytes(std::span<const uint8_t> record) {
  const std::string bytes =
      dtnn::TfRecordBytes({reinterpret_cast<const char*>(record.data()), record.size()});
  return {bytes.begin(), bytes.end()};
}

}  // namespace dtnn::testing
