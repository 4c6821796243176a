#include "data/testing/tf_records.h"

#include <string>

#include "data/files/crc32c.h"
#include "data/formats/tf_example.pb.h"

namespace dtnn::testing {
namespace {

// `size` bytes of `value`, the lowest first.
void Append(std::vector<uint8_t>& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(uint8_t(value >> (8 * i)));
}

}  // namespace

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
  std::vector<uint8_t> bytes;
  Append(bytes, record.size(), 8);
  Append(bytes, MaskedCrc32c(bytes), 4);
  bytes.insert(bytes.end(), record.begin(), record.end());
  Append(bytes, MaskedCrc32c(record), 4);
  return bytes;
}

}  // namespace dtnn::testing
