#include "comm/secrets/sums/masked_codec.h"

#include <set>

#include "comm/secrets/masked/fixed_point.h"
#include "comm/wire/wire.h"

namespace dtnn::codec {
namespace {

using Words = std::vector<uint32_t>;

Bytes ToBytes(std::span<const uint32_t> words) {
  Bytes bytes(4 * words.size());
  for (size_t i = 0; i < words.size(); ++i) StoreLittleEndian(words[i], &bytes[4 * i]);
  return bytes;
}

absl::StatusOr<Words> FromBytes(ChunkId id, std::span<const uint8_t> bytes, size_t count) {
  if (bytes.size() != 4 * count) {
    return DataLoss("codec masked: chunk ", id.chunk, " has ", bytes.size(), " bytes, expected ",
                    4 * count, " for ", count, " numbers");
  }
  Words words(count);
  for (size_t i = 0; i < count; ++i) words[i] = LoadLittleEndian<uint32_t>(&bytes[4 * i]);
  return words;
}

absl::Status CheckRound(const MaskedCodecOptions& options, ChunkId id) {
  if (id.round == options.parameters.round) return absl::OkStatus();
  return FailedPrecondition("codec masked: masks are those of round ", options.parameters.round,
                            ", chunk ", id.chunk, " is of round ", id.round);
}

absl::StatusOr<CodecDescription> DescribeMasked(const MaskedCodecOptions& options) {
  DTNN_RETURN_IF_ERROR(Validate(options.parameters));
  if (options.fraction_bits < 1 || options.fraction_bits > 30 || options.chunk_values == 0) {
    return InvalidArgument("codec masked: ", options.fraction_bits, " fraction bits in chunks of ",
                           options.chunk_values, ": use 1 to 30 bits, and chunks of something");
  }
  const masked::MaskedParameters& p = options.parameters;
  return Describe("masked", options.chunk_values, 4 * options.chunk_values,
                  StrCat("clients ", p.clients, ", threshold ", p.shares_needed(),
                         p.complete() ? "" : StrCat(", neighbours ", p.neighbours),
                         ", fraction bits ", options.fraction_bits));
}

class Client : public ClientCodec {
 public:
  Client(const MaskedCodecOptions& options, masked::MaskedClient& client,
         const CodecDescription& description)
      : options_(options), client_(client), description_(description) {}

  const CodecDescription& description() const override { return description_; }

  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    DTNN_RETURN_IF_ERROR(CheckRound(options_, id));
    const double limit =
        masked::FixedPointLimit(32, options_.fraction_bits, options_.parameters.clients);
    Words words(values.size());
    DTNN_RETURN_IF_ERROR(
        masked::ToFixedPoint(values, options_.fraction_bits, limit, std::span(words)));
    DTNN_RETURN_IF_ERROR(client_.Mask(id.chunk, std::span(words)));
    return ToBytes(words);
  }

  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    DTNN_ASSIGN_OR_RETURN(const Words words, FromBytes(id, result, values.size()));
    masked::FromFixedPoint(std::span<const uint32_t>(words), options_.fraction_bits, values);
    return absl::OkStatus();
  }

 private:
  const MaskedCodecOptions options_;
  masked::MaskedClient& client_;
  const CodecDescription description_;
};

class Sum : public ChunkSum {
 public:
  Sum(const masked::MaskedServer& server, int fraction_bits, ChunkId id, size_t values)
      : server_(server), fraction_bits_(fraction_bits), id_(id), sum_(values) {}

  absl::Status Add(int client, std::span<const uint8_t> body) override {
    DTNN_ASSIGN_OR_RETURN(const Words words,
                          WithContext(FromBytes(id_, body, sum_.size()), "client ", client));
    if (!added_.insert(client).second) {
      return absl::AlreadyExistsError(
          StrCat("client ", client, " has already added its words of chunk ", id_.chunk));
    }
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += words[i];
    return absl::OkStatus();
  }

  absl::StatusOr<Bytes> Result() override {
    Words sum = sum_;
    DTNN_RETURN_IF_ERROR(server_.Unmask(id_.chunk, added_, std::span(sum)));
    return ToBytes(sum);
  }
  absl::Status Read(std::span<float> values) override {
    DTNN_RETURN_IF_ERROR(CheckReadSize(id_, sum_.size(), values.size()));
    Words sum = sum_;
    DTNN_RETURN_IF_ERROR(server_.Unmask(id_.chunk, added_, std::span(sum)));
    masked::FromFixedPoint(std::span<const uint32_t>(sum), fraction_bits_, values);
    return absl::OkStatus();
  }

 private:
  const masked::MaskedServer& server_;
  const int fraction_bits_;
  const ChunkId id_;
  Words sum_;
  std::set<int> added_;
};

class Server : public ServerCodec {
 public:
  Server(const MaskedCodecOptions& options, const masked::MaskedServer& server,
         const CodecDescription& description)
      : options_(options), server_(server), description_(description) {}

  const CodecDescription& description() const override { return description_; }
  absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) override {
    DTNN_RETURN_IF_ERROR(CheckRound(options_, id));
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description_, id, values));
    return std::make_unique<Sum>(server_, options_.fraction_bits, id, values);
  }

 private:
  const MaskedCodecOptions options_;
  const masked::MaskedServer& server_;
  const CodecDescription description_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClientCodec>> MaskedCodecClient(const MaskedCodecOptions& options,
                                                               masked::MaskedClient& client) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribeMasked(options));
  return std::make_unique<Client>(options, client, description);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> MaskedCodecServer(const MaskedCodecOptions& options,
                                                               const masked::MaskedServer& server) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description, DescribeMasked(options));
  return std::make_unique<Server>(options, server, description);
}

}  // namespace dtnn::codec
