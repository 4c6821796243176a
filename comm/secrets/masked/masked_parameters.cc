#include "comm/secrets/masked/masked_parameters.h"

#include <algorithm>

#include "comm/secrets/crypto/sealed_message.h"
#include "comm/secrets/crypto/shamir.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::masked {
namespace {

constexpr size_t kSealedShares = kSealBytes + 2 * Secret::kSize;

template <size_t size>
void Read(WireReader& reader, std::array<uint8_t, size>& to) {
  const std::span<const uint8_t> bytes = reader.Bytes(size);
  std::ranges::copy(bytes, to.begin());
}

// DataLoss unless 0 <= client < clients.
absl::StatusOr<int> Client(const MaskedParameters& parameters, uint32_t client,
                           std::string_view what) {
  if (client < uint32_t(parameters.clients)) return int(client);
  return DataLoss(what, ": there is no client ", client, " among ", parameters.clients);
}

}  // namespace

absl::Status Validate(const MaskedParameters& parameters) {
  const int clients = parameters.clients, needed = parameters.shares_needed();
  if (!parameters.complete()) {
    const int neighbours = parameters.neighbours;
    if (neighbours < 4 || neighbours % 2 != 0 || neighbours >= kMaxShares ||
        neighbours >= clients - 1 || clients > kMostMasked) {
      return InvalidArgument("masked sums of ", clients, " clients with ", neighbours,
                             " neighbours each: needs an even number from 4 to ", kMaxShares - 1,
                             ", below ", clients - 1, ", of ", kMostMasked, " clients at most");
    }
    // Below, an arc of the circle could be summed by itself (masked_client.h); above, a client that
    // is gone with its own share would be missed.
    if (needed < ThresholdOf(neighbours) || needed > neighbours) {
      return InvalidArgument("masked sums with ", neighbours, " neighbours and a threshold of ",
                             needed, ": needs ", ThresholdOf(neighbours), " to ", neighbours);
    }
    return absl::OkStatus();
  }
  if (clients < 2 || clients > kMaxShares) {
    return InvalidArgument("masked sums of ", clients, " clients: needs 2 to ", kMaxShares);
  }
  // Two groups of half of the clients could receive different messages, and give both shares.
  if (parameters.threshold < 0 || needed > clients || 2 * needed <= clients) {
    return InvalidArgument("masked sums of ", clients, " clients with a threshold of ",
                           parameters.threshold, ": needs more than half of the clients, ",
                           2 * clients / 3 + 1, " for instance");
  }
  return absl::OkStatus();
}

std::vector<uint8_t> ToBytes(const Advertisement& message) {
  WireWriter writer;
  writer.Number(uint32_t(message.client));
  writer.Bytes(message.sealing);
  writer.Bytes(message.masking);
  writer.Bytes(message.own_mask);
  return std::move(writer).Take();
}

std::vector<uint8_t> ToBytes(const SealedShares& message) {
  WireWriter writer;
  writer.Number(uint32_t(message.from));
  writer.Number(uint32_t(message.to));
  writer.Bytes(message.sealed);
  return std::move(writer).Take();
}

std::vector<uint8_t> ToBytes(const Vote& message) {
  WireWriter writer;
  writer.Number(uint32_t(message.client));
  writer.Bytes(message.proof);
  return std::move(writer).Take();
}

std::vector<uint8_t> ToBytes(const Reveal& message) {
  WireWriter writer;
  writer.Number(uint32_t(message.client));
  writer.Number(uint32_t(message.entries.size()));
  for (const Reveal::Entry& entry : message.entries) {
    writer.Number(uint32_t(entry.client));
    writer.Number(uint8_t(entry.survived));
    writer.Bytes(entry.share.bytes());
  }
  return std::move(writer).Take();
}

absl::StatusOr<Advertisement> AdvertisementFromBytes(const MaskedParameters& parameters,
                                                     std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "advertisement");
  Advertisement message;
  const uint32_t client = reader.Number<uint32_t>();
  Read(reader, message.sealing);
  Read(reader, message.masking);
  Read(reader, message.own_mask);
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_ASSIGN_OR_RETURN(message.client, Client(parameters, client, "advertisement"));
  return message;
}

absl::StatusOr<SealedShares> SealedSharesFromBytes(const MaskedParameters& parameters,
                                                   std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "sealed shares");
  SealedShares message;
  const uint32_t from = reader.Number<uint32_t>(), to = reader.Number<uint32_t>();
  const std::span<const uint8_t> sealed = reader.Bytes(kSealedShares);
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_ASSIGN_OR_RETURN(message.from, Client(parameters, from, "sealed shares"));
  DTNN_ASSIGN_OR_RETURN(message.to, Client(parameters, to, "sealed shares"));
  message.sealed.assign(sealed.begin(), sealed.end());
  return message;
}

absl::StatusOr<Vote> VoteFromBytes(const MaskedParameters& parameters,
                                   std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "vote");
  Vote message;
  const uint32_t client = reader.Number<uint32_t>();
  Read(reader, message.proof);
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_ASSIGN_OR_RETURN(message.client, Client(parameters, client, "vote"));
  return message;
}

absl::StatusOr<Reveal> RevealFromBytes(const MaskedParameters& parameters,
                                       std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "revealed shares");
  Reveal message;
  const uint32_t client = reader.Number<uint32_t>(), count = reader.Number<uint32_t>();
  if (count > uint32_t(parameters.shares())) {
    return DataLoss("revealed shares: are of ", count, " clients, there are ", parameters.shares());
  }
  DTNN_ASSIGN_OR_RETURN(message.client, Client(parameters, client, "revealed shares"));
  for (uint32_t i = 0; i < count; ++i) {
    Reveal::Entry& entry = message.entries.emplace_back();
    const uint32_t of = reader.Number<uint32_t>();
    const uint8_t survived = reader.Number<uint8_t>();
    std::ranges::copy(reader.Bytes(Secret::kSize), entry.share.bytes().begin());
    DTNN_ASSIGN_OR_RETURN(entry.client, Client(parameters, of, "revealed shares"));
    if (survived > 1) return DataLoss("revealed shares: a client is neither there nor gone");
    entry.survived = survived == 1;
  }
  DTNN_RETURN_IF_ERROR(reader.Done());
  return message;
}

}  // namespace dtnn::masked
