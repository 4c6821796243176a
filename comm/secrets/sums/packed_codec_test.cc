#include "comm/secrets/sums/packed_codec.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/secrets/sums/plain_codec.h"
#include "comm/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::codec {
namespace {

using ::testing::ElementsAre;

// What a server reads.
absl::StatusOr<std::vector<float>> Read(const PackedOptions& options, ChunkId id, const Bytes& body,
                                        size_t values) {
  const auto server = Must(PackedServer(options));
  const auto sum = Must(server->NewSum(id, values));
  DTNN_RETURN_IF_ERROR(sum->Add(0, body));
  std::vector<float> read(values);
  Must(sum->Read(read));
  return read;
}

std::vector<float> SendAndRead(const PackedOptions& options, ChunkId id,
                               const std::vector<float>& values, const Philox& random) {
  const Bytes body = Must(Must(PackedClient(options, random))->Encode(id, values));
  return Must(Read(options, id, body, values.size()));
}

TEST(PackedCodecTest, HalvesAreThoseOfThePlainCodecAndTheRestIsExact) {
  const std::vector<float> values = {0.1f, -3.3f, 70.7f, 0.1f, -3.3f};
  for (const auto& [packing, type] : {std::pair(Packing::kBfloat16, WireType::kBfloat16),
                                      std::pair(Packing::kFloat16, WireType::kFloat16)}) {
    const PackedOptions options = {.packing = packing, .chunk_values = 5, .packed_values = 8};
    const std::vector<float> read = SendAndRead(options, {.chunk = 1}, values, Philox(0, 0));
    const auto plain = Must(PlainClient(type, 5));
    std::vector<float> rounded(5);
    Must(plain->Decode({}, Must(plain->Encode({}, values)), rounded));
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(read[i], i < 3 ? rounded[i] : values[i]) << i;
    EXPECT_NE(read[0], values[0]);
    EXPECT_EQ(Must(Must(PackedClient(options, Philox(0, 0)))->Encode({.chunk = 1}, values)).size(),
              3 * 2 + 2 * 4u);
  }
}

// Sizes around that of a block, whose largest number is exact.
TEST(PackedCodecTest, Int8IsOneOfTheTwoMultiplesBesideANumber) {
  for (const size_t count : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{1000}}) {
    const PackedOptions options = {
        .packing = Packing::kInt8, .chunk_values = 1000, .packed_values = 5000};
    std::vector<float> values(count);
    const Philox numbers(3, count);
    for (size_t i = 0; i < count; ++i) {
      const double size = i < 256 ? 1 : 1e-3;  // blocks have scales of their own
      values[i] = float(size * (2 * numbers.Uniform(i) - 1));
    }
    values[0] = -1;
    for (size_t i = 256; i < count; i += 256) values[i] = 1e-3f;
    const std::vector<float> read = SendAndRead(options, {.chunk = 4}, values, Philox(5, 6));
    for (size_t i = 0; i < count; ++i) {
      const float scale = (i < 256 ? 1 : 1e-3f) / 127;
      EXPECT_LT(std::abs(read[i] - values[i]), scale * 1.0001f) << count << " " << i;
      const double multiple = double{read[i]} / scale;
      EXPECT_NEAR(multiple, std::round(multiple), 1e-4) << i;
    }
    EXPECT_FLOAT_EQ(read[0], -1);
    if (count > 256) {
      EXPECT_FLOAT_EQ(read[256], 1e-3f);
    }
  }
}

// The mean of n roundings has a deviation of at most scale / 2 / sqrt(n).
TEST(PackedCodecTest, Int8RoundsToTheNumberOnAverage) {
  const PackedOptions options = {.packing = Packing::kInt8, .chunk_values = 8, .packed_values = 8};
  const std::vector<float> values = {127, 0.25f, -0.25f, 63.5f, -99.9f, 0.01f, 0, 1};
  std::vector<double> mean(values.size());
  constexpr int kTimes = 10000;
  for (int time = 0; time < kTimes; ++time) {
    const std::vector<float> read = SendAndRead(options, {}, values, Philox(1, uint64_t(time)));
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += double{read[i]} / kTimes;
  }
  for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(mean[i], values[i], 5 * 0.5 / 100) << i;
  EXPECT_EQ(mean[6], 0);
}

TEST(PackedCodecTest, Int8DependsOnThePlaceInTheUpdateAlone) {
  const std::vector<float> values(64, 0.3f);
  const auto body = [&](size_t chunk_values, uint32_t chunk) {
    std::vector<float> with_scale = values;
    with_scale[0] = 1;
    const PackedOptions options = {
        .packing = Packing::kInt8, .chunk_values = chunk_values, .packed_values = 1000};
    return Must(Must(PackedClient(options, Philox(7, 8)))->Encode({.chunk = chunk}, with_scale));
  };
  EXPECT_EQ(body(64, 2), body(128, 1));
  EXPECT_NE(body(64, 2), body(64, 1));
}

TEST(PackedCodecTest, Int8KeepsZerosAndNumbersThatAreTiny) {
  const PackedOptions options = {.packing = Packing::kInt8, .chunk_values = 3, .packed_values = 3};
  EXPECT_THAT(SendAndRead(options, {}, {0, 0, 0}, Philox(1, 1)), ElementsAre(0, 0, 0));
  // The scale would be 0.
  EXPECT_THAT(SendAndRead(options, {}, {1e-45f, 0, -1e-45f}, Philox(1, 1)), ElementsAre(0, 0, 0));
}

TEST(PackedCodecTest, SparseNumbersArriveAsTheyAre) {
  const PackedOptions options = {
      .packing = Packing::kSparse, .chunk_values = 1 << 16, .packed_values = 1 << 20};
  std::vector<float> values(1 << 16);
  values[0] = 1;
  values[77] = -1e-30f;
  values[65535] = 3e38f;
  const Bytes body = Must(Must(PackedClient(options, Philox(0, 0)))->Encode({}, values));
  EXPECT_EQ(body.size(), 4 + 3 * 6u);
  EXPECT_EQ(Must(Read(options, {}, body, values.size())), values);
  EXPECT_EQ(SendAndRead(options, {}, std::vector<float>(5), Philox(0, 0)), std::vector<float>(5));
}

// With 6 bytes for each of two thirds, places save nothing.
TEST(PackedCodecTest, ManyNumbersHaveNoPlaces) {
  const PackedOptions options = {
      .packing = Packing::kSparse, .chunk_values = 6, .packed_values = 6};
  const auto size = [&](const std::vector<float>& values) {
    const Bytes body = Must(Must(PackedClient(options, Philox(0, 0)))->Encode({}, values));
    EXPECT_EQ(Must(Read(options, {}, body, values.size())), values);
    return body.size();
  };
  EXPECT_EQ(size({1, 2, 3, 0, 0, 0}), 4 + 3 * 6u);
  EXPECT_EQ(size({1, 2, 3, 4, 0, 0}), 4 + 6 * 4u);
  EXPECT_EQ(size({1, 2, 3, 4, 5, 6}), 4 + 6 * 4u);
}

Bytes SparseBody(uint32_t count, const std::vector<uint16_t>& places,
                 const std::vector<float>& values) {
  WireWriter writer;
  writer.Number(count);
  for (const uint16_t place : places) writer.Number(place);
  for (const float x : values) writer.Number(std::bit_cast<uint32_t>(x));
  return std::move(writer).Take();
}

TEST(PackedCodecTest, PlacesThatNoClientSendsAreRefused) {
  const PackedOptions options = {
      .packing = Packing::kSparse, .chunk_values = 4, .packed_values = 4};
  const auto error = [&](const Bytes& body) {
    return std::string(Read(options, {}, body, 4).status().message());
  };
  EXPECT_EQ(error(SparseBody(2, {0, 3}, {1, 2})), "");
  EXPECT_EQ(error(SparseBody(0, {}, {})), "");
  EXPECT_EQ(error(SparseBody(2, {0, 4}, {1, 2})),
            "client 0: codec sparse: chunk 0 of 4 numbers has the place 4 after 0");
  EXPECT_EQ(error(SparseBody(2, {2, 2}, {1, 2})),
            "client 0: codec sparse: chunk 0 of 4 numbers has the place 2 after 2");
  EXPECT_EQ(error(SparseBody(2, {2, 1}, {1, 2})),
            "client 0: codec sparse: chunk 0 of 4 numbers has the place 1 after 2");
  EXPECT_EQ(error(SparseBody(5, {0, 1, 2, 3, 4}, {1, 2, 3, 4, 5})),
            "client 0: codec sparse: chunk 0 claims 5 of 4 numbers in 34 packed bytes");
  EXPECT_EQ(error(SparseBody(0xffffffff, {}, {})),
            "client 0: codec sparse: chunk 0 claims 4294967295 of 4 numbers in 4 packed bytes");
  EXPECT_EQ(error(SparseBody(2, {0, 3}, {1})),
            "client 0: codec sparse: chunk 0 claims 2 of 4 numbers in 12 packed bytes");
  EXPECT_EQ(error(SparseBody(1, {2}, {NAN})),
            "client 0: codec sparse: chunk 0 holds a number that is NaN or infinite");
  EXPECT_EQ(error({}), "client 0: codec sparse: chunk 0 claims 0 of 4 numbers in 0 packed bytes");
}

TEST(PackedCodecTest, ScalesThatNoClientSendsAreRefused) {
  const PackedOptions options = {.packing = Packing::kInt8, .chunk_values = 2, .packed_values = 2};
  const auto error = [&](float scale, size_t multiples) {
    WireWriter writer;
    writer.Number(std::bit_cast<uint32_t>(scale));
    writer.Bytes(Bytes(multiples, 100));
    return std::string(Read(options, {}, std::move(writer).Take(), 2).status().message());
  };
  EXPECT_EQ(error(0.5f, 2), "");
  EXPECT_EQ(error(-0.5f, 2),
            "client 0: codec int8: chunk 0 has the scale -0.5, expected 0 or more");
  EXPECT_EQ(error(NAN, 2), "client 0: codec int8: chunk 0 has the scale nan, expected 0 or more");
  for (const float large : {INFINITY, 3e38f}) {
    EXPECT_EQ(error(large, 2),
              "client 0: codec int8: chunk 0 holds a number that is NaN or infinite");
  }
  EXPECT_EQ(error(0.5f, 3),
            "client 0: codec int8: chunk 0 has 7 packed bytes, expected 6 for 2 numbers");
}

TEST(PackedCodecTest, BothSidesAgreeOnWhichNumbersArePacked) {
  const auto fingerprint = [](size_t packed) {
    return Must(PackedServer({.chunk_values = 4, .packed_values = packed}))
        ->description()
        .fingerprint;
  };
  EXPECT_NE(fingerprint(3), fingerprint(4));
  EXPECT_EQ(PackedServer({.packing = Packing::kSparse, .chunk_values = 65537}).status().message(),
            "codec sparse: chunks of 65537 numbers; expected 1 to 65536");
}

}  // namespace
}  // namespace dtnn::codec
