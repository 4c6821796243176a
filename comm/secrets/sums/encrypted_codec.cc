#include "comm/secrets/sums/encrypted_codec.h"

#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "comm/secrets/ckks/cipher.h"
#include "comm/secrets/ckks/linear_tag.h"
#include "comm/secrets/ckks/message.h"
#include "comm/wire/wire.h"

namespace dtnn::codec {
namespace {

using ckks::Ciphertext;
using ckks::CkksContext;
using ckks::MessageKind;

// `more`: bytes of a body beside a ciphertext.
absl::StatusOr<CodecDescription> DescribeEncrypted(std::string_view name,
                                                   const CkksContext& context, int clients,
                                                   size_t more = 0) {
  if (clients < 1) return InvalidArgument("codec ", name, ": sums of ", clients, " clients");
  const ckks::CkksParameters& p = context.parameters();
  return Describe(name, p.values(), MessageBytes(context, MessageKind::kCiphertext) + more,
                  StrCat(p.ToString(), ", sum bits ", p.sum_bits, ", clients ", clients));
}

double LimitOf(const CkksContext& context, int clients) {
  return context.parameters().sum_limit() / clients;
}

class CkksClientCodec : public ClientCodec {
 public:
  CkksClientCodec(CkksContextPointer context, int clients, ckks::SecretKey key,
                  const CodecDescription& description)
      : context_(std::move(context)),
        limit_(LimitOf(*context_, clients)),
        key_(std::move(key)),
        description_(description) {}

  const CodecDescription& description() const override { return description_; }

  absl::StatusOr<Bytes> Encode(ChunkId, std::span<const float> values) override {
    DTNN_ASSIGN_OR_RETURN(const ckks::SeededCiphertext x, Encrypt(*context_, key_, values, limit_));
    return ToBytes(*context_, x);
  }

  absl::Status Decode(ChunkId, std::span<const uint8_t> result, std::span<float> values) override {
    DTNN_ASSIGN_OR_RETURN(const Ciphertext sum, CiphertextFromBytes(*context_, result));
    return Decrypt(*context_, key_, sum, values);
  }

 private:
  const CkksContextPointer context_;
  const double limit_;
  const ckks::SecretKey key_;
  const CodecDescription description_;
};

// Adds ciphertexts, which are seeded ones or not.
class CiphertextSum : public ChunkSum {
 public:
  CiphertextSum(CkksContextPointer context, ChunkId id, int clients)
      : context_(std::move(context)), id_(id), clients_(clients) {}

  absl::StatusOr<Bytes> Result() override { return SumAsBytes(); }

 protected:
  absl::Status AddCiphertext(const Ciphertext& x) {
    // What a sum may be is shared out between so many: one more could wrap it around.
    const uint64_t summands = uint64_t{x.summands} + (sum_ ? sum_->summands : 0);
    if (summands > uint64_t(clients_)) {
      return FailedPrecondition("chunk ", id_.chunk, " of round ", id_.round, ": a sum of ",
                                summands, " updates, with numbers for ", clients_, " clients");
    }
    if (sum_) return ckks::Add(*context_, *sum_, x);
    sum_ = x;
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> SumAsBytes() const {
    DTNN_RETURN_IF_ERROR(CheckNotEmpty());
    return ToBytes(*context_, *sum_);
  }
  absl::Status CheckNotEmpty() const {
    if (sum_) return absl::OkStatus();
    return FailedPrecondition("chunk ", id_.chunk, " of round ", id_.round,
                              ": no client has added anything");
  }

  const CkksContextPointer context_;
  const ChunkId id_;
  const int clients_;  // the most
  std::optional<Ciphertext> sum_;
};

class CkksSum : public CiphertextSum {
 public:
  using CiphertextSum::CiphertextSum;
  absl::Status Add(int client, std::span<const uint8_t> body) override {
    DTNN_ASSIGN_OR_RETURN(
        ckks::SeededCiphertext x,
        WithContext(SeededCiphertextFromBytes(*context_, body), "client ", client));
    DTNN_ASSIGN_OR_RETURN(const Ciphertext expanded, Expand(*context_, std::move(x)));
    return WithContext(AddCiphertext(expanded), "client ", client);
  }
};

class CkksServerCodec : public ServerCodec {
 public:
  CkksServerCodec(CkksContextPointer context, int clients, const CodecDescription& description)
      : context_(std::move(context)), clients_(clients), description_(description) {}

  const CodecDescription& description() const override { return description_; }
  absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) override {
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description_, id, values));
    return std::make_unique<CkksSum>(context_, id, clients_);
  }

 private:
  const CkksContextPointer context_;
  const int clients_;
  const CodecDescription description_;
};

// A ciphertext and a tag after it.
struct Tagged {
  Ciphertext ciphertext;
  ckks::LinearTag tag;
};

Bytes ToBytes(const CkksContext& context, const Tagged& tagged) {
  Bytes bytes = ckks::ToBytes(context, tagged.ciphertext);
  const Bytes tag = ckks::ToBytes(tagged.tag);
  bytes.insert(bytes.end(), tag.begin(), tag.end());
  return bytes;
}

absl::StatusOr<Tagged> TaggedFromBytes(const CkksContext& context, std::span<const uint8_t> bytes) {
  const size_t tag_bytes = LinearTagBytes(context);
  if (bytes.size() < tag_bytes) {
    return DataLoss("a ciphertext of ", bytes.size(), " bytes has no tag");
  }
  Tagged tagged;
  DTNN_ASSIGN_OR_RETURN(tagged.tag, LinearTagFromBytes(context, bytes.last(tag_bytes)));
  DTNN_ASSIGN_OR_RETURN(tagged.ciphertext,
                        CiphertextFromBytes(context, bytes.first(bytes.size() - tag_bytes)));
  return tagged;
}

class ThresholdClientCodec : public ClientCodec {
 public:
  ThresholdClientCodec(CkksContextPointer context, int clients, ckks::ThresholdClient self,
                       ckks::PublicKey key, ckks::LinearTagger tagger,
                       const CodecDescription& description)
      : context_(std::move(context)),
        clients_(clients),
        limit_(LimitOf(*context_, clients)),
        tagger_(std::move(tagger)),
        self_(std::move(self)),
        key_(std::move(key)),
        description_(description) {}

  const CodecDescription& description() const override { return description_; }

  // Each chunk once: two ciphertexts with one tag's pad would show what the tags are made with.
  absl::StatusOr<Bytes> Encode(ChunkId id, std::span<const float> values) override {
    Tagged tagged;
    DTNN_ASSIGN_OR_RETURN(tagged.ciphertext, Encrypt(*context_, key_, values, limit_));
    {
      const std::lock_guard lock(mutex_);
      if (!tagged_.insert(id.chunk).second) {
        return FailedPrecondition("codec threshold: chunk ", id.chunk, " of round ", id.round,
                                  " was encrypted before; send that one again");
      }
    }
    DTNN_ASSIGN_OR_RETURN(tagged.tag,
                          tagger_.TagOf(tagged.ciphertext.c1, self_.client(), id.chunk));
    return ToBytes(*context_, tagged);
  }

  absl::StatusOr<Bytes> Answer(ChunkId id, std::span<const uint8_t> question) override {
    DTNN_ASSIGN_OR_RETURN(const Tagged sum, TaggedFromBytes(*context_, question));
    DTNN_RETURN_IF_ERROR(tagger_.CheckSum(sum.ciphertext.c1, clients_, id.chunk, sum.tag));
    const std::lock_guard lock(mutex_);
    return self_.Decrypt(sum.ciphertext, id);
  }

  absl::Status Decode(ChunkId id, std::span<const uint8_t> result,
                      std::span<float> values) override {
    if (result.size() != values.size() * sizeof(float)) {
      return DataLoss("codec threshold: chunk ", id.chunk, " has ", result.size(),
                      " bytes, expected ", values.size() * sizeof(float));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::bit_cast<float>(LoadLittleEndian<uint32_t>(&result[4 * i]));
    }
    return absl::OkStatus();
  }

 private:
  const CkksContextPointer context_;
  const int clients_;
  const double limit_;
  const ckks::LinearTagger tagger_;
  std::mutex mutex_;
  std::set<uint32_t> tagged_;   // chunks; under mutex_
  ckks::ThresholdClient self_;  // under mutex_, but for its number
  const ckks::PublicKey key_;
  const CodecDescription description_;
};

class ThresholdSum : public CiphertextSum {
 public:
  ThresholdSum(CkksContextPointer context, ChunkId id, size_t values, int clients)
      : CiphertextSum(std::move(context), id, clients), values_(values), parts_(size_t(clients)) {}

  absl::Status Add(int client, std::span<const uint8_t> body) override {
    if (asked_) return FailedPrecondition("client ", client, " is too late for this sum");
    DTNN_ASSIGN_OR_RETURN(const Tagged x,
                          WithContext(TaggedFromBytes(*context_, body), "client ", client));
    if (x.ciphertext.summands != 1) {
      return InvalidArgument("client ", client, " sends a sum of ", x.ciphertext.summands,
                             " updates");
    }
    DTNN_RETURN_IF_ERROR(WithContext(AddCiphertext(x.ciphertext), "client ", client));
    if (tag_.empty()) {
      tag_ = x.tag;
    } else {
      AddTo(*context_, tag_, x.tag);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Bytes> Question() override {
    DTNN_RETURN_IF_ERROR(CheckNotEmpty());
    asked_ = true;
    return ToBytes(*context_, Tagged{.ciphertext = *sum_, .tag = tag_});
  }

  absl::Status AddAnswer(int client, std::span<const uint8_t> answer) override {
    if (client < 0 || size_t(client) >= parts_.size() || !asked_) {
      return InvalidArgument("client ", client, " answers what nobody asked");
    }
    DTNN_ASSIGN_OR_RETURN(
        const ckks::Message part,
        WithContext(MessageFromBytes(*context_, MessageKind::kPartialDecryption, answer), "client ",
                    client));
    if (part.number != uint32_t(client)) {
      return DataLoss("client ", client, " gives the part of client ", part.number);
    }
    parts_[size_t(client)].assign(answer.begin(), answer.end());
    return absl::OkStatus();
  }

  absl::Status Read(std::span<float> values) override {
    DTNN_RETURN_IF_ERROR(CheckReadSize(id_, values_, values.size()));
    DTNN_RETURN_IF_ERROR(CheckNotEmpty());
    for (size_t client = 0; client < parts_.size(); ++client) {
      if (!parts_[client].empty()) continue;
      return FailedPrecondition("chunk ", id_.chunk, " of round ", id_.round, ": client ", client,
                                " has not given its part of the decryption; threshold keys need "
                                "all clients");
    }
    return CombineDecryptions(*context_, *sum_, int(parts_.size()), parts_, values);
  }

  absl::StatusOr<Bytes> Result() override {
    std::vector<float> sum(values_);
    DTNN_RETURN_IF_ERROR(Read(sum));
    Bytes bytes(4 * sum.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      StoreLittleEndian(std::bit_cast<uint32_t>(sum[i]), &bytes[4 * i]);
    }
    return bytes;
  }

 private:
  const size_t values_;
  bool asked_ = false;
  ckks::LinearTag tag_;  // of the sum
  std::vector<Bytes> parts_;
};

class ThresholdServerCodec : public ServerCodec {
 public:
  ThresholdServerCodec(CkksContextPointer context, int clients, const CodecDescription& description)
      : context_(std::move(context)), clients_(clients), description_(description) {}

  const CodecDescription& description() const override { return description_; }
  bool asks() const override { return true; }
  absl::StatusOr<std::unique_ptr<ChunkSum>> NewSum(ChunkId id, size_t values) override {
    DTNN_RETURN_IF_ERROR(CheckChunkSize(description_, id, values));
    return std::make_unique<ThresholdSum>(context_, id, values, clients_);
  }

 private:
  const CkksContextPointer context_;
  const int clients_;
  const CodecDescription description_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClientCodec>> CkksClient(CkksContextPointer context, int clients,
                                                        const Secret& seed) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description,
                        DescribeEncrypted("ckks", *context, clients));
  DTNN_ASSIGN_OR_RETURN(ckks::SecretKey key, ckks::SecretKey::FromSeed(*context, seed));
  return std::make_unique<CkksClientCodec>(std::move(context), clients, std::move(key),
                                           description);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> CkksServer(CkksContextPointer context, int clients) {
  DTNN_ASSIGN_OR_RETURN(const CodecDescription description,
                        DescribeEncrypted("ckks", *context, clients));
  return std::make_unique<CkksServerCodec>(std::move(context), clients, description);
}

absl::StatusOr<std::unique_ptr<ClientCodec>> ThresholdCodecClient(CkksContextPointer context,
                                                                  int clients,
                                                                  ckks::ThresholdClient self,
                                                                  ckks::PublicKey key,
                                                                  const Secret& tags) {
  DTNN_ASSIGN_OR_RETURN(
      const CodecDescription description,
      DescribeEncrypted("threshold", *context, clients, LinearTagBytes(*context)));
  DTNN_ASSIGN_OR_RETURN(ckks::LinearTagger tagger, ckks::LinearTagger::Create(*context, tags));
  return std::make_unique<ThresholdClientCodec>(std::move(context), clients, std::move(self),
                                                std::move(key), std::move(tagger), description);
}

absl::StatusOr<std::unique_ptr<ServerCodec>> ThresholdCodecServer(CkksContextPointer context,
                                                                  int clients) {
  DTNN_ASSIGN_OR_RETURN(
      const CodecDescription description,
      DescribeEncrypted("threshold", *context, clients, LinearTagBytes(*context)));
  return std::make_unique<ThresholdServerCodec>(std::move(context), clients, description);
}

}  // namespace dtnn::codec
