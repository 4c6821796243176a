#include "comm/federation/masked_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/masked/masked_server.h"
#include "comm/secrets/sums/masked_codec.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using masked::Advertisement;
using masked::MaskedParameters;
using masked::SealedShares;

// A model's numbers are smaller than this, and each may be sent with a factor of 1: the sum of all
// participants must not wrap around.
constexpr double kLargestNumber = 64;

// Notes after those of the set-up.
constexpr int kSetUpNotes = 2, kSurvivors = 2, kVotes = 3;

codec::MaskedCodecOptions CodecOptions(const Protector& protector, const SumFacts& sum) {
  return {.parameters = {.clients = sum.participants,
                         .round = sum.attempt,
                         .neighbours = protector.mask_neighbours(sum.participants)},
          .fraction_bits = MaskedFractionBits(sum.participants),
          .chunk_values = protector.chunk_values()};
}

template <typename Message>
Bytes ListOf(const std::vector<Message>& messages) {
  std::vector<Bytes> list;
  for (const Message& message : messages) list.push_back(ToBytes(message));
  return ListToBytes(list);
}

template <typename Parse>
auto ReadList(const MaskedParameters& parameters, std::span<const uint8_t> bytes, Parse parse)
    -> absl::StatusOr<std::vector<typename decltype(parse(parameters, bytes))::value_type>> {
  DTNN_ASSIGN_OR_RETURN(const std::vector<Bytes> list,
                        ListFromBytes(bytes, size_t(parameters.clients)));
  std::vector<typename decltype(parse(parameters, bytes))::value_type> messages;
  for (const Bytes& entry : list) {
    DTNN_ASSIGN_OR_RETURN(auto message, parse(parameters, entry));
    messages.push_back(std::move(message));
  }
  return messages;
}

class Server : public ServerProtocol {
 public:
  Server(const codec::MaskedCodecOptions& options, masked::MaskedServer server)
      : options_(options), server_(std::move(server)) {}

  int setup_notes() const override { return kSetUpNotes; }
  int closing_notes() const override { return options_.parameters.complete() ? 1 : 2; }
  int spare() const override {
    return options_.parameters.shares() - options_.parameters.shares_needed();
  }

  absl::Status TakeReply(int note, int position, std::span<const uint8_t> reply) override {
    const MaskedParameters& parameters = options_.parameters;
    if (note == 0) {
      DTNN_ASSIGN_OR_RETURN(const Advertisement message, AdvertisementFromBytes(parameters, reply));
      DTNN_RETURN_IF_ERROR(CheckSender(message.client, position));
      return server_.AddAdvertisement(message);
    }
    if (note == 1) {
      DTNN_ASSIGN_OR_RETURN(const std::vector<SealedShares> shares,
                            ReadList(parameters, reply, masked::SealedSharesFromBytes));
      return server_.AddShares(position, shares);
    }
    if (note == kSurvivors && !parameters.complete()) {
      DTNN_ASSIGN_OR_RETURN(const masked::Vote vote, VoteFromBytes(parameters, reply));
      DTNN_RETURN_IF_ERROR(CheckSender(vote.client, position));
      return server_.AddVote(vote);
    }
    DTNN_ASSIGN_OR_RETURN(const masked::Reveal reveal, RevealFromBytes(parameters, reply));
    DTNN_RETURN_IF_ERROR(CheckSender(reveal.client, position));
    return server_.AddReveal(reveal);
  }

  absl::StatusOr<std::map<int, SharedBytes>> Note(int note) override {
    std::map<int, SharedBytes> notes;
    if (note == 0) {
      const std::vector<Advertisement> advertised = server_.advertised();
      if (int(advertised.size()) < options_.parameters.least()) return TooFew(advertised.size());
      DTNN_ASSIGN_OR_RETURN(const Hash drawn, server_.CloseAdvertised());
      Bytes body = ListOf(advertised);
      body.insert(body.end(), drawn.begin(), drawn.end());
      const SharedBytes all = std::make_shared<const Bytes>(std::move(body));
      for (const Advertisement& a : advertised) notes[a.client] = all;
      return notes;
    }
    if (note == kVotes) return Votes();
    const std::set<int> participants = server_.FixParticipants();
    if (int(participants.size()) < options_.parameters.least()) return TooFew(participants.size());
    DTNN_RETURN_IF_ERROR(server_.CheckParticipants());
    for (const int position : participants) {
      notes[position] = std::make_shared<const Bytes>(ListOf(server_.SharesFor(position)));
    }
    return notes;
  }

  absl::StatusOr<SharedBytes> AskSurvivors(const std::set<int>& survivors) override {
    const std::vector<int> list(survivors.begin(), survivors.end());
    DTNN_RETURN_IF_ERROR(server_.SetSurvivors(list));
    WireWriter writer;
    for (const int position : list) writer.Number(uint32_t(position));
    return std::make_shared<const Bytes>(std::move(writer).Take());
  }

  absl::Status FinishReplies(const std::stop_token& stop) override { return server_.Rebuild(stop); }
  std::vector<std::pair<int, int>> disputes() const override {
    std::vector<std::pair<int, int>> pairs;
    for (const masked::MaskedServer::WrongShare& share : server_.wrong_shares()) {
      pairs.emplace_back(share.of, share.from);
    }
    return pairs;
  }

  absl::StatusOr<std::unique_ptr<codec::ServerCodec>> MakeCodec() override {
    return codec::MaskedCodecServer(options_, server_);
  }

 private:
  absl::StatusOr<std::map<int, SharedBytes>> Votes() const {
    std::vector<masked::Vote> votes;
    for (const auto& [position, vote] : server_.votes()) votes.push_back(vote);
    if (int(votes.size()) < options_.parameters.least()) return TooFew(votes.size());
    const SharedBytes all = std::make_shared<const Bytes>(ListOf(votes));
    std::map<int, SharedBytes> notes;
    for (const masked::Vote& vote : votes) notes[vote.client] = all;
    return notes;
  }
  static absl::Status CheckSender(int client, int position) {
    if (client == position) return absl::OkStatus();
    return InvalidArgument("client ", position, " speaks for client ", client);
  }
  absl::Status TooFew(size_t there) const {
    return FailedPrecondition("masks need ", options_.parameters.least(), " of ",
                              options_.parameters.clients, " clients, but only ", there,
                              " are left");
  }

  const codec::MaskedCodecOptions options_;
  masked::MaskedServer server_;
};

class Client : public ClientProtocol {
 public:
  Client(const codec::MaskedCodecOptions& options, masked::MaskedClient client,
         const Company& company)
      : options_(options), client_(std::move(client)), company_(company) {}

  int setup_notes() const override { return kSetUpNotes; }

  absl::StatusOr<Bytes> FirstReply() override { return ToBytes(client_.advertisement()); }

  absl::StatusOr<std::optional<Bytes>> TakeNote(int note, std::span<const uint8_t> body) override {
    const MaskedParameters& parameters = options_.parameters;
    if (note == 0) {
      Hash drawn{};
      if (body.size() < drawn.size()) return DataLoss("a list of keys of ", body.size(), " bytes");
      std::ranges::copy(body.last(drawn.size()), drawn.begin());
      DTNN_ASSIGN_OR_RETURN(const std::vector<Advertisement> advertised,
                            ReadList(parameters, body.first(body.size() - drawn.size()),
                                     masked::AdvertisementFromBytes));
      DTNN_ASSIGN_OR_RETURN(const std::vector<SealedShares> shares,
                            client_.Share(advertised, drawn));
      return ListOf(shares);
    }
    if (note == 1) {
      DTNN_ASSIGN_OR_RETURN(const std::vector<SealedShares> shares,
                            ReadList(parameters, body, masked::SealedSharesFromBytes));
      DTNN_RETURN_IF_ERROR(client_.Receive(shares));
      return std::nullopt;
    }
    if (note == kVotes && !parameters.complete()) {
      DTNN_ASSIGN_OR_RETURN(const std::vector<masked::Vote> votes,
                            ReadList(parameters, body, masked::VoteFromBytes));
      DTNN_ASSIGN_OR_RETURN(const masked::Reveal reveal, client_.RevealShares(votes));
      return ToBytes(reveal);
    }
    if (body.size() % 4 != 0 || body.size() / 4 > size_t(parameters.clients)) {
      return DataLoss("a list of survivors of ", body.size(), " bytes");
    }
    std::vector<int> survivors;
    for (size_t i = 0; i < body.size(); i += 4) {
      survivors.push_back(int(LoadLittleEndian<uint32_t>(&body[i])));
    }
    DTNN_RETURN_IF_ERROR(company_.Check({survivors.begin(), survivors.end()}));
    if (!parameters.complete()) {
      DTNN_ASSIGN_OR_RETURN(const masked::Vote vote, client_.VoteFor(survivors));
      return ToBytes(vote);
    }
    DTNN_ASSIGN_OR_RETURN(const masked::Reveal reveal, client_.RevealShares(survivors));
    return ToBytes(reveal);
  }

  std::optional<int> culprit() const override { return client_.culprit(); }

  absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() override {
    return codec::MaskedCodecClient(options_, client_);
  }

 private:
  const codec::MaskedCodecOptions options_;
  masked::MaskedClient client_;
  const Company company_;
};

}  // namespace

int MaskedFractionBits(int participants) {
  int bits = 20;
  while (bits > 1 && double(uint64_t{1} << (31 - bits)) / participants < kLargestNumber) --bits;
  return bits;
}

absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeMaskedServer(const Protector& protector,
                                                                 const SumFacts& sum) {
  const codec::MaskedCodecOptions options = CodecOptions(protector, sum);
  DTNN_ASSIGN_OR_RETURN(masked::MaskedServer server,
                        masked::MaskedServer::Create(options.parameters));
  return std::make_unique<Server>(options, std::move(server));
}

absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeMaskedClient(const Protector& protector,
                                                                 const SumFacts& sum, int position,
                                                                 const Secret& key,
                                                                 const Company& company) {
  const codec::MaskedCodecOptions options = CodecOptions(protector, sum);
  DTNN_ASSIGN_OR_RETURN(
      masked::MaskedClient client,
      masked::MaskedClient::Create(options.parameters, position, {.facts = sum.facts, .key = key}));
  return std::make_unique<Client>(options, std::move(client), company);
}

}  // namespace dtnn::federation
