#include "data/formats/tf_record.h"

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/files/crc32c.h"
#include "data/formats/tf_example.h"
#include "data/testing/idx_files.h"
#include "data/testing/tf_records.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using testing::Bytes;
using ::testing::HasSubstr;
using testing::ImageExampleBytes;
using testing::TfRecordBytes;

TfRecordReader Reader(const Bytes& bytes) { return TfRecordReader(MemorySource(bytes), "a file"); }

// Reads to the end; the message of the error.
std::string Error(const Bytes& bytes) {
  TfRecordReader reader = Reader(bytes);
  Bytes record;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(record);
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return "no error";
  }
}

Bytes Joined(const std::vector<Bytes>& records) {
  Bytes bytes;
  for (const Bytes& record : records) {
    const Bytes framed = TfRecordBytes(record);
    bytes.insert(bytes.end(), framed.begin(), framed.end());
  }
  return bytes;
}

TEST(TfRecordTest, RecordsComeInOrder) {
  const std::vector<Bytes> records = {{1, 2, 3}, {}, testing::Elements(1000)};
  const std::string folder = testing::NewFolder("tf_record");
  const std::string plain = testing::WriteFile(folder, "plain", Joined(records));
  const std::string packed = testing::WriteFile(folder, "packed", testing::Gzip(Joined(records)));
  for (const std::string& path : {plain, packed}) {
    TfRecordReader reader = TfRecordReader::Open(path).value();
    Bytes record;
    for (const Bytes& expected : records) {
      ASSERT_TRUE(reader.Next(record).value());
      EXPECT_EQ(record, expected);
    }
    EXPECT_EQ(reader.Place(), path + ", record 2");
    EXPECT_FALSE(reader.Next(record).value());
  }
}

TEST(TfRecordTest, APackedFileThatIsCutBetweenRecordsIsTruncated) {
  const std::string folder = testing::NewFolder("tf_record");
  Bytes packed = testing::Gzip(Joined({{1, 2, 3}, {4, 5}}));
  packed.resize(packed.size() - 4);  // of the checksum and the size after the data
  TfRecordReader reader = TfRecordReader::Open(testing::WriteFile(folder, "cut", packed)).value();
  Bytes record;
  ASSERT_TRUE(reader.Next(record).value());
  ASSERT_TRUE(reader.Next(record).value());
  EXPECT_EQ(reader.Next(record).status().message(),
            folder + "/cut, record 2: the file is truncated; is the download complete?");
}

TEST(TfRecordTest, APackedFileThatIsDamagedIsNamed) {
  const std::string folder = testing::NewFolder("tf_record");
  const Bytes whole = testing::Gzip(Joined({{1, 2, 3}}));
  // A kind of block that does not exist, and a wrong checksum of all.
  for (const size_t at : {size_t(10), whole.size() - 8}) {
    Bytes damaged = whole;
    damaged[at] = uint8_t(~damaged[at] | 7);
    const std::string path = testing::WriteFile(folder, "damaged", damaged);
    absl::StatusOr<TfRecordReader> reader = TfRecordReader::Open(path);
    absl::Status status = reader.status();
    for (Bytes record; status.ok();) {
      const absl::StatusOr<bool> more = reader->Next(record);
      ASSERT_FALSE(more.ok() && !*more) << at;
      status = more.status();
    }
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path), HasSubstr("the gzip data is damaged")))
        << at;
  }
}

// From the format's definition: length 3 and its masked checksum.
TEST(TfRecordTest, FramesAreTensorFlows) {
  const Bytes framed = TfRecordBytes(Bytes{'a', 'b', 'c'});
  ASSERT_EQ(framed.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(Bytes(framed.begin(), framed.begin() + 8), (Bytes{3, 0, 0, 0, 0, 0, 0, 0}));
  const uint32_t crc = 0x364b3fb7u,  // CRC-32C of "abc"
      masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(framed[15 + i], uint8_t(masked >> (8 * i)));
}

TEST(TfRecordTest, EveryCutIsRefused) {
  const Bytes whole = Joined({{1, 2, 3}, {4, 5}});
  const size_t first = TfRecordBytes(Bytes{1, 2, 3}).size();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == first) continue;  // a whole number of records
    EXPECT_THAT(Error(Bytes(whole.begin(), whole.begin() + long(size))),
                HasSubstr(size < first ? "a file, record 0: " : "a file, record 1: "));
  }
}

TEST(TfRecordTest, EveryDamagedBitIsFound) {
  const Bytes whole = Joined({{1, 2, 3}});
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 4;
    EXPECT_THAT(Error(damaged), HasSubstr("checksum")) << at;
  }
}

TEST(TfRecordTest, LengthsAreLimited) {
  Bytes bytes = TfRecordBytes(Bytes(9));
  EXPECT_EQ(
      Error(Bytes(40, 'x')),
      "a file, record 0: the checksum of its length is wrong; this is not a TFRecord file, or a "
      "damaged one");
  EXPECT_EQ(Error(bytes), "no error");
  // What a length may claim, in a file that ends after it.
  const auto claim = [](uint64_t length) {
    Bytes frame = TfRecordBytes(Bytes());
    std::memcpy(frame.data(), &length, sizeof(length));
    const uint32_t sum = MaskedCrc32c(std::span(frame).first(sizeof(length)));
    std::memcpy(frame.data() + sizeof(length), &sum, sizeof(sum));
    return Error(frame);
  };
  EXPECT_THAT(claim(67108864), HasSubstr("the file ends inside it"));
  EXPECT_EQ(claim(67108865),
            "a file, record 0: has 67108865 bytes, more than the 67108864 that are allowed");
}

TEST(TfExampleTest, ImageAndLabel) {
  const LabelledImage image = {{1, 2, 0, 255}, 417};
  const LabelledImage parsed = ParseImageExample(ImageExampleBytes(image), "it").value();
  EXPECT_EQ(parsed.encoded, image.encoded);
  EXPECT_EQ(parsed.label, 417);
}

// By hand: field 1 (features) of a map from "image/class/label" to int64_list {5}, not packed.
TEST(TfExampleTest, WireFormatIsTensorFlows) {
  const std::string key = "image/class/label";
  Bytes entry = {0x0a, uint8_t(key.size())};
  entry.insert(entry.end(), key.begin(), key.end());
  entry.insert(entry.end(), {0x12, 4, 0x1a, 2, 0x08, 5});
  Bytes features = {0x0a, uint8_t(entry.size())};
  features.insert(features.end(), entry.begin(), entry.end());
  Bytes example = {0x0a, uint8_t(features.size())};
  example.insert(example.end(), features.begin(), features.end());
  EXPECT_EQ(ParseImageExample(example, "it").status().message(),
            "it: has no feature \"image/encoded\" of one image");
  const Bytes image = ImageExampleBytes({{9}, 5});
  Bytes both = example;
  both.insert(both.end(), image.begin(), image.end());  // messages one after the other merge
  EXPECT_EQ(ParseImageExample(both, "it")->label, 5);
}

TEST(TfExampleTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(ParseImageExample(Bytes{0xff, 0xff}, "it").status().message(),
            "it: is not a tf.train.Example");
  EXPECT_EQ(ParseImageExample({}, "it").status().message(),
            "it: has no feature \"image/encoded\" of one image");
}

TEST(TfExampleTest, OneImageHasOneLabel) {
  const auto error = [](const Bytes& bytes) {
    return std::string(ParseImageExample(bytes, "it").status().message());
  };
  // A feature of that name: field 1 of bytes, or field 3 of numbers that are not packed.
  const auto example = [](const std::vector<std::pair<std::string, Bytes>>& features) {
    Bytes map;
    for (const auto& [key, value] : features) {
      Bytes entry = {0x0a, uint8_t(key.size())};
      entry.insert(entry.end(), key.begin(), key.end());
      entry.insert(entry.end(), {0x12, uint8_t(value.size())});
      entry.insert(entry.end(), value.begin(), value.end());
      map.insert(map.end(), {0x0a, uint8_t(entry.size())});
      map.insert(map.end(), entry.begin(), entry.end());
    }
    Bytes bytes = {0x0a, uint8_t(map.size())};
    bytes.insert(bytes.end(), map.begin(), map.end());
    return bytes;
  };
  const std::string image = "image/encoded", label = "image/class/label";
  const Bytes one_image = {0x0a, 3, 0x0a, 1, 9}, two_images = {0x0a, 6, 0x0a, 1, 9, 0x0a, 1, 8};
  const Bytes one_label = {0x1a, 2, 0x08, 5}, two_labels = {0x1a, 4, 0x08, 5, 0x08, 6};
  const LabelledImage good =
      ParseImageExample(example({{image, one_image}, {label, one_label}}), "it").value();
  EXPECT_EQ(good.encoded, Bytes{9});
  EXPECT_EQ(good.label, 5);
  const std::string no_image = "it: has no feature \"image/encoded\" of one image";
  const std::string no_label = "it: has no feature \"image/class/label\" of one number";
  EXPECT_EQ(error(example({{label, one_label}})), no_image);
  EXPECT_EQ(error(example({{image, two_images}, {label, one_label}})), no_image);
  EXPECT_EQ(error(example({{image, one_label}, {label, one_label}})), no_image) << "a number";
  EXPECT_EQ(error(example({{image, one_image}})), no_label);
  EXPECT_EQ(error(example({{image, one_image}, {label, two_labels}})), no_label);
  EXPECT_EQ(error(example({{image, one_image}, {label, one_image}})), no_label) << "bytes";
}

TEST(TfRecordTest, WhereItIsCutIsSaid) {
  const Bytes whole = Joined({{1, 2, 3}});
  const auto cut = [&](size_t size) {
    return Error(Bytes(whole.begin(), whole.begin() + long(size)));
  };
  EXPECT_EQ(cut(11),
            "a file, record 0: the file ends inside its length; is the download complete?");
  for (const size_t size : {12, 14, 15, 18}) {
    EXPECT_EQ(cut(size), "a file, record 0: the file ends inside it; is the download complete?")
        << size;
  }
}

}  // namespace
}  // namespace dtnn
