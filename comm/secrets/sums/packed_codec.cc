#include "comm/secrets/sums/packed_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/secrets/sums/plain_codec.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::codec {
namespace {

constexpr size_t kBlock = 256;  // numbers of one scale
constexpr int kMostMultiple = 127;

constexpr std::string_view NameOf(Packing packing) {
  constexpr std::string_view kNames[] = {"packed_bf16", "packed_fp16", "int8", "sparse"};
  return kNames[size_t(packing)];
}

absl::StatusOr<CodecDescription> DescribePacked(const PackedOptions& options) {
  if (options.chunk_values == 0 || options.chunk_values > kMostPackedValues) {
    return InvalidArgument("codec ", NameOf(options.packing), ": chunks of ", options.chunk_values,
                           " numbers; expected 1 to ", kMostPackedValues);
  }
  return Describe(NameOf(options.packing), options.chunk_values,
                  sizeof(uint32_t) + sizeof(float) * options.chunk_values,
                  StrCat("the first ", options.packed_values));
}

size_t BytesOfInt8(size_t numbers) {
  return numbers + sizeof(float) * ((numbers + kBlock - 1) / kBlock);
}

// floor(x / scale + u), with u uniform in [0, 1).
int8_t MultipleOf(float x, float scale, double u) {
  const double multiple = std::floor(double{x} / double{scale} + u);
  return int8_t(std::clamp<double>(multiple, -kMostMultiple, kMostMultiple));
}

// `first`: the place in the update of the first number.
Bytes PackInt8(std::span<const float> values, uint64_t first, const Philox& random) {
  Bytes bytes(BytesOfInt8(values.size()));
  uint8_t* to = bytes.data();
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const float> block =
        values.subspan(begin, std::min(kBlock, values.size() - begin));
    float largest = 0;
    for (const float x : block) largest = std::max(largest, std::abs(x));
    const float scale = largest / float{kMostMultiple};
    StoreLittleEndian(std::bit_cast<uint32_t>(scale), to);
    to += sizeof(float);
    for (size_t i = 0; i < block.size(); ++i, ++to) {
      if (scale > 0) *to = uint8_t(MultipleOf(block[i], scale, random.Uniform(first + begin + i)));
    }
  }
  return bytes;
}

// All numbers of the body are finite where this is OK.
absl::Status CheckFinite(std::span<const float> values, std::string_view name, ChunkId id) {
  if (std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    return absl::OkStatus();
  }
  return InvalidArgument("codec ", name, ": chunk ", id.chunk,
                         " holds a number that is NaN or infinite");
}

absl::Status UnpackInt8(std::span<const uint8_t> bytes, ChunkId id, std::span<float> values) {
  if (bytes.size() != BytesOfInt8(values.size())) {
    return DataLoss("codec int8: chunk ", id.chunk, " has ", bytes.size(), " packed bytes, ",
                    "expected ", BytesOfInt8(values.size()), " for ", values.size(), " numbers");
  }
  const uint8_t* from = bytes.data();
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<float> block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    const auto scale = std::bit_cast<float>(LoadLittleEndian<uint32_t>(from));
    from += sizeof(float);
    if (!(scale >= 0)) {
      return InvalidArgument("codec int8: chunk ", id.chunk, " has the scale ", scale,
                             ", expected 0 or more");
    }
    for (float& x : block) x = float(int8_t(*from++)) * scale;
  }
  return absl::OkStatus();
}

Bytes PackSparse(std::span<const float> values) {
  std::vector<size_t> places;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.push_back(i);
  }
  const bool all =
      (sizeof(uint16_t) + sizeof(float)) * places.size() >= sizeof(float) * values.size();
  WireWriter writer;
  writer.Number(uint32_t(all ? values.size() : places.size()));
  if (all) {
    for (const float x : values) writer.Number(std::bit_cast<uint32_t>(x));
  } else {
    for (const size_t place : places) writer.Number(uint16_t(place));
    for (const size_t place : places) writer.Number(std::bit_cast<uint32_t>(values[place]));
  }
  return std::move(writer).Take();
}

absl::Status UnpackSparse(std::span<const uint8_t> bytes, ChunkId id, std::span<float> values) {
  WireReader reader(bytes, "codec sparse");
  const auto count = size_t{reader.Number<uint32_t>()};
  const bool all = count == values.size();
  const size_t expected = (all ? 0 : sizeof(uint16_t)) + sizeof(float);  // bytes of each
  if (count > values.size() || bytes.size() != sizeof(uint32_t) + count * expected) {
    return DataLoss("codec sparse: chunk ", id.chunk, " claims ", count, " of ", values.size(),
                    " numbers in ", bytes.size(), " packed bytes");
  }
  const std::span<const uint8_t> places = reader.Bytes(all ? 0 : count * sizeof(uint16_t));
  std::ranges::fill(values, 0.0f);
  std::optional<size_t> last;
  for (size_t i = 0; i < count; ++i) {
    const size_t place = all ? i : LoadLittleEndian<uint16_t>(&places[sizeof(uint16_t) * i]);
    if (place >= values.size() || (last && place <= *last)) {
      return DataLoss("codec sparse: chunk ", id.chunk, " of ", values.size(),
                      " numbers has the place ", place, last ? StrCat(" after ", *last) : "");
    }
    values[place] = std::bit_cast<float>(reader.Number<uint32_t>());
    last = place;
  }
  return reader.Done();
}

// What both sides do with the bodies of updates.
class Packer {
 public:
  static absl::StatusOr<Packer> Create(const PackedOptions& options) {
    Packer packer(options);
    DTNN_ASSIGN_OR_RETURN(packer.description_, DescribePacked(options));
    DTNN_ASSIGN_OR_RETURN(packer.plain_, PlainClient(WireType::kFloat32, options.chunk_values));
    const WireType half =
        options.packing == Packing::kFloat16 ? WireType::kFloat16 : WireType::kBfloat16;
    DTNN_ASSIGN_OR_RETURN(packer.half_, PlainClient(half, options.chunk_values));
    return packer;
  }

  const CodecDescription& description() const { return description_; }
  // The codec of sums, and of what is not packed.
  ClientCodec& plain() const { return *plain_; }

  absl::StatusOr<Bytes> Pack(ChunkId id, std::span<const float> values,
                             const Philox& random) const {
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description_, id, values.size()));
    DTNN_RETURN_IF_ERROR(CheckFinite(values, description_.name, id));
    const size_t packed = PackedOf(id, values.size());
    DTNN_ASSIGN_OR_RETURN(Bytes body, PackFirst(id, values.first(packed), random));
    DTNN_ASSIGN_OR_RETURN(const Bytes rest, plain_->Encode(id, values.subspan(packed)));
    body.insert(body.end(), rest.begin(), rest.end());
    return body;
  }

  absl::Status Unpack(ChunkId id, std::span<const uint8_t> body, std::span<float> values) const {
    const size_t packed = PackedOf(id, values.size());
    const size_t rest = sizeof(float) * (values.size() - packed);  // bytes
    if (body.size() < rest) {
      return DataLoss("codec ", description_.name, ": chunk ", id.chunk, " has ", body.size(),
                      " bytes, expected ", rest, " or more");
    }
    DTNN_RETURN_IF_ERROR(UnpackFirst(id, body.first(body.size() - rest), values.first(packed)));
    DTNN_RETURN_IF_ERROR(plain_->Decode(id, body.last(rest), values.subspan(packed)));
    return CheckFinite(values, description_.name, id);
  }

 private:
  explicit Packer(const PackedOptions& options) : options_(options) {}

  // The numbers of a chunk that are packed: its first.
  size_t PackedOf(ChunkId id, size_t values) const {
    const size_t before = id.chunk * options_.chunk_values;
    return std::min(values, options_.packed_values - std::min(before, options_.packed_values));
  }

  absl::StatusOr<Bytes> PackFirst(ChunkId id, std::span<const float> values,
                                  const Philox& random) const {
    if (values.empty()) return Bytes();
    switch (options_.packing) {
      case Packing::kBfloat16:
      case Packing::kFloat16:
        break;
      case Packing::kInt8:
        return PackInt8(values, uint64_t{id.chunk} * options_.chunk_values, random);
      case Packing::kSparse:
        return PackSparse(values);
    }
    return half_->Encode(id, values);
  }

  absl::Status UnpackFirst(ChunkId id, std::span<const uint8_t> bytes,
                           std::span<float> values) const {
    if (options_.packing == Packing::kInt8) return UnpackInt8(bytes, id, values);
    if (options_.packing == Packing::kSparse && !values.empty()) {
      return UnpackSparse(bytes, id, values);
    }
    return half_->Decode(id, bytes, values);
  }

  PackedOptions options_;
  CodecDescription description_;
  std::unique_ptr<ClientCodec> plain_, half_;
};

class Client : public ClientCodec {
 public:
  Client(Packer packer, const Philox& random) : packer_(std::move(packer)), random_(random) {}

  const CodecDescription& description() const override { return packer_.description(); }
  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    return packer_.Pack(id, values, random_);
  }
  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    return packer_.plain().Decode(id, result, values);
  }

 private:
  const Packer packer_;
  const Philox random_;
};

class Sum : public ChunkSum {
 public:
  Sum(const Packer& packer, ChunkId id, size_t values) : packer_(packer), id_(id), sum_(values) {}

  absl::Status Add(int client, std::span<const uint8_t> body) override {
    std::vector<float> values(sum_.size());
    DTNN_RETURN_IF_ERROR(WithContext(packer_.Unpack(id_, body, values), "client ", client));
    for (size_t i = 0; i < values.size(); ++i) sum_[i] += values[i];
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Result() override { return packer_.plain().Encode(id_, sum_); }
  absl::Status Read(std::span<float> values) override {
    DTNN_RETURN_IF_ERROR(CheckReadSize(id_, sum_.size(), values.size()));
    std::ranges::copy(sum_, values.begin());
    return absl::OkStatus();
  }

 private:
  const Packer& packer_;
  const ChunkId id_;
  std::vector<float> sum_;
};

class Server : public ServerCodec {
 public:
  explicit Server(Packer packer) : packer_(std::move(packer)) {}

  const CodecDescription& description() const override { return packer_.description(); }
  absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) override {
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description(), id, values));
    return std::make_unique<Sum>(packer_, id, values);
  }

 private:
  const Packer packer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClientCodec>> PackedClient(const PackedOptions& options,
                                                          const Philox& random) {
  DTNN_ASSIGN_OR_RETURN(Packer packer, Packer::Create(options));
  return std::make_unique<Client>(std::move(packer), random);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> PackedServer(const PackedOptions& options) {
  DTNN_ASSIGN_OR_RETURN(Packer packer, Packer::Create(options));
  return std::make_unique<Server>(std::move(packer));
}

}  // namespace dtnn::codec
