#include "comm/secrets/sums/plain_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/wire/half.h"
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

absl::StatusOr<std::unique_ptr<ClientCodec>> PlainClient(WireType type, size_t chunk_values) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribePlain(type, chunk_values));
  return std::make_unique<Client>(type, description);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> PlainServer(WireType type, size_t chunk_values) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribePlain(type, chunk_values));
  return std::make_unique<Server>(type, description);
}

}  // namespace dtnn::codec
