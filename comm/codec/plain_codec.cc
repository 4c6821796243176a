#include "comm/codec/plain_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/wire/wire.h"

namespace dtnn::codec {
namespace {

constexpr std::string_view NameOf(WireType type) {
  return type == WireType::kFloat32 ? "plain" : type == WireType::kFloat16 ? "fp16" : "bf16";
}

size_t BytesOf(WireType type) { return type == WireType::kFloat32 ? 4 : 2; }

uint32_t ToBits(WireType type, float x) {
  switch (type) {
    case WireType::kFloat32:
      return std::bit_cast<uint32_t>(x);
    case WireType::kFloat16:
      return ToFloat16(x);
    case WireType::kBfloat16:
      break;
  }
  return ToBfloat16(x);
}

float FromBits(WireType type, uint32_t bits) {
  switch (type) {
    case WireType::kFloat32:
      return std::bit_cast<float>(bits);
    case WireType::kFloat16:
      return FromFloat16(uint16_t(bits));
    case WireType::kBfloat16:
      break;
  }
  return FromBfloat16(uint16_t(bits));
}

absl::StatusOr<CodecDescription> DescribePlain(WireType type, size_t chunk_values) {
  if (chunk_values == 0) {
    return InvalidArgument("codec ", NameOf(type),
                           ": chunk_values is 0; a chunk must have at least one number");
  }
  return Describe(NameOf(type), chunk_values, chunk_values * BytesOf(type), "");
}

absl::StatusOr<Bytes> Write(WireType type, ChunkId id, std::span<const float> values) {
  const size_t width = BytesOf(type);
  Bytes bytes(values.size() * width);
  bool finite = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = ToBits(type, values[i]);
    finite &= std::isfinite(FromBits(type, bits));
    if (width == 4) {
      StoreLittleEndian(bits, &bytes[4 * i]);
    } else {
      StoreLittleEndian(uint16_t(bits), &bytes[2 * i]);
    }
  }
  if (!finite) {
    return InvalidArgument("codec ", NameOf(type), ": chunk ", id.chunk,
                           " holds a number that is NaN, infinite or too large for the type");
  }
  return bytes;
}

// use(i, number) for all, when all are good.
template <typename Use>
absl::Status ReadNumbers(WireType type, ChunkId id, std::span<const uint8_t> bytes, size_t count,
                         const Use& use) {
  const size_t width = BytesOf(type);
  if (bytes.size() != count * width) {
    return DataLoss("codec ", NameOf(type), ": chunk ", id.chunk, " has ", bytes.size(),
                    " bytes, expected ", count * width, " for ", count, " numbers");
  }
  const auto number = [&](size_t i) {
    return FromBits(type, width == 4 ? LoadLittleEndian<uint32_t>(&bytes[4 * i])
                                     : LoadLittleEndian<uint16_t>(&bytes[2 * i]));
  };
  bool finite = true;
  for (size_t i = 0; i < count; ++i) finite &= std::isfinite(number(i));
  if (!finite) {
    return InvalidArgument("codec ", NameOf(type), ": chunk ", id.chunk,
                           " holds a number that is NaN or infinite");
  }
  for (size_t i = 0; i < count; ++i) use(i, number(i));
  return absl::OkStatus();
}

class Client : public ClientCodec {
 public:
  Client(WireType type, const CodecDescription& description)
      : type_(type), description_(description) {}

  const CodecDescription& description() const override { return description_; }
  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    return Write(type_, id, values);
  }
  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    return ReadNumbers(type_, id, result, values.size(), [&](size_t i, float x) { values[i] = x; });
  }

 private:
  const WireType type_;
  const CodecDescription description_;
};

class Sum : public ChunkSum {
 public:
  Sum(WireType type, ChunkId id, size_t values) : type_(type), id_(id), sum_(values) {}

  absl::Status Add(int client, std::span<const uint8_t> body) override {
    return WithContext(
        ReadNumbers(type_, id_, body, sum_.size(), [&](size_t i, float x) { sum_[i] += x; }),
        "client ", client);
  }
  absl::StatusOr<Bytes> Result() override { return Write(type_, id_, sum_); }
  absl::Status Read(std::span<float> values) override {
    DTNN_RETURN_IF_ERROR(CheckReadSize(id_, sum_.size(), values.size()));
    std::ranges::copy(sum_, values.begin());
    return absl::OkStatus();
  }

 private:
  const WireType type_;
  const ChunkId id_;
  std::vector<float> sum_;
};

class Server : public ServerCodec {
 public:
  Server(WireType type, const CodecDescription& description)
      : type_(type), description_(description) {}

  const CodecDescription& description() const override { return description_; }
  absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) override {
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description_, id, values));
    return std::make_unique<Sum>(type_, id, values);
  }

 private:
  const WireType type_;
  const CodecDescription description_;
};

}  // namespace

// Adding halves of the last kept bit, one less where that bit is even, carries into it whenever
// it must be rounded up, and on into the exponent.
uint16_t ToBfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t ToFloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  const float magnitude = std::abs(x);
  if (std::isnan(x)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // rounds beyond the largest, 65504
  if (magnitude < 0x1p-14f) {
    // Subnormal: multiples of 2^-24, which float32 rounds to when 2^-24 is its last bit.
    return sign |
           uint16_t(std::bit_cast<uint32_t>(magnitude + 0.5f) - std::bit_cast<uint32_t>(0.5f));
  }
  const uint32_t m = std::bit_cast<uint32_t>(magnitude) - (uint32_t{127 - 15} << 23);
  return sign | uint16_t((m + 0xfff + (m >> 13 & 1)) >> 13);
}

float FromFloat16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x400) {
    const float magnitude = float(rest) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((rest << 13) + (uint32_t{127 - 15} << 23)));
}

absl::StatusOr<std::unique_ptr<ClientCodec>> PlainClient(WireType type, size_t chunk_values) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribePlain(type, chunk_values));
  return std::make_unique<Client>(type, description);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> PlainServer(WireType type, size_t chunk_values) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribePlain(type, chunk_values));
  return std::make_unique<Server>(type, description);
}

}  // namespace dtnn::codec
