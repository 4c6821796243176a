#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>

#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/masked/fixed_point.h"
#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/masked/masked_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/status_macros.h"

namespace dtnn::masked {
namespace {

using ::testing::HasSubstr;

// Clients that are in all of these sets, as bits.
struct Stays {
  unsigned shares, sends, reveals;
};

std::vector<int> Members(unsigned set, int clients) {
  std::vector<int> members;
  for (int i = 0; i < clients; ++i) {
    if (set >> i & 1) members.push_back(i);
  }
  return members;
}

constexpr int kChunks = 2;
constexpr size_t kWords = 5;

template <typename Word>
using Numbers = std::vector<std::vector<Word>>;  // of chunks

template <typename Word>
Numbers<Word> NumbersOf(int client) {
  std::mt19937_64 random(uint64_t(client) + 1);
  Numbers<Word> numbers(kChunks, std::vector<Word>(kWords));
  for (auto& chunk : numbers) {
    for (Word& word : chunk) word = Word(random());
  }
  return numbers;
}

// A whole round in which clients stop at three places; the sum of those that sent all chunks, or
// the first error. Everything goes over the wire as bytes.
template <typename Word>
absl::StatusOr<Numbers<Word>> RunRound(const MaskedParameters& p, Stays stays) {
  DTNN_ASSIGN_OR_RETURN(MaskedServer server, MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < p.clients; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    const std::vector<uint8_t> bytes = ToBytes(clients.back().advertisement());
    DTNN_RETURN_IF_ERROR(server.AddAdvertisement(Must(AdvertisementFromBytes(p, bytes))));
  }
  for (const int i : Members(stays.shares, p.clients)) {
    DTNN_ASSIGN_OR_RETURN(std::vector<SealedShares> messages,
                          clients[size_t(i)].Share(server.advertised()));
    for (SealedShares& m : messages) m = Must(SealedSharesFromBytes(p, ToBytes(m)));
    DTNN_RETURN_IF_ERROR(server.AddShares(i, messages));
  }
  server.FixParticipants();
  Numbers<Word> sum(kChunks, std::vector<Word>(kWords));
  for (const int i : Members(stays.sends, p.clients)) {
    MaskedClient& client = clients[size_t(i)];
    DTNN_RETURN_IF_ERROR(client.Receive(server.SharesFor(i)));
    Numbers<Word> numbers = NumbersOf<Word>(i);
    for (uint64_t c = 0; c < kChunks; ++c) {
      DTNN_RETURN_IF_ERROR(client.Mask(c, std::span(numbers[c])));
      for (size_t k = 0; k < kWords; ++k) sum[c][k] += numbers[c][k];
    }
  }
  const std::vector<int> survivors = Members(stays.sends, p.clients);
  DTNN_RETURN_IF_ERROR(server.SetSurvivors(survivors));
  for (const int i : Members(stays.reveals, p.clients)) {
    DTNN_ASSIGN_OR_RETURN(const Reveal reveal, clients[size_t(i)].RevealShares(survivors));
    DTNN_RETURN_IF_ERROR(server.AddReveal(Must(RevealFromBytes(p, ToBytes(reveal)))));
  }
  DTNN_RETURN_IF_ERROR(server.Rebuild());
  for (uint64_t c = 0; c < kChunks; ++c) {
    DTNN_RETURN_IF_ERROR(server.Unmask(c, {survivors.begin(), survivors.end()}, std::span(sum[c])));
  }
  // A client too many or too few, which would leave masks in the sum.
  std::vector<Word> words(kWords);
  std::set<int> others(survivors.begin(), survivors.end());
  others.insert(p.clients);
  EXPECT_EQ(server.Unmask(0, others, std::span(words)).code(),
            absl::StatusCode::kFailedPrecondition);
  others = {survivors.begin() + 1, survivors.end()};
  EXPECT_EQ(server.Unmask(0, others, std::span(words)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(words, std::vector<Word>(kWords)) << "what is refused is not changed";
  return sum;
}

template <typename Word>
Numbers<Word> SumOf(unsigned set, int clients) {
  Numbers<Word> sum(kChunks, std::vector<Word>(kWords));
  for (const int i : Members(set, clients)) {
    const Numbers<Word> numbers = NumbersOf<Word>(i);
    for (size_t c = 0; c < kChunks; ++c) {
      for (size_t k = 0; k < kWords; ++k) sum[c][k] += numbers[c][k];
    }
  }
  return sum;
}

// Every way in which up to five clients can stop before sharing, before sending, before revealing:
// the sum of the senders where enough are left, else an error.
template <typename Word>
void TryAllDropOuts(int clients) {
  const MaskedParameters p{.clients = clients, .round = 5};
  const unsigned all = (1u << clients) - 1;
  int finished = 0, refused = 0;
  for (unsigned shares = 0; shares <= all; ++shares) {
    for (unsigned sends = shares;; sends = (sends - 1) & shares) {
      for (unsigned reveals = sends;; reveals = (reveals - 1) & sends) {
        const auto sum = RunRound<Word>(p, {shares, sends, reveals});
        const bool enough = std::popcount(reveals) >= p.least();
        ASSERT_EQ(sum.ok(), enough)
            << shares << " " << sends << " " << reveals << ": " << sum.status();
        enough ? ++finished : ++refused;
        if (enough) {
          ASSERT_EQ(*sum, SumOf<Word>(sends, clients)) << shares << " " << sends << " " << reveals;
        }
        if (reveals == 0) break;
      }
      if (sends == 0) break;
    }
  }
  EXPECT_EQ(finished + refused, int(std::pow(4, clients)));
  EXPECT_GT(finished, 0);
}

TEST(MaskedTest, EveryWayToDropOutOfSmallRounds) {
  for (const int clients : {2, 3, 4}) {
    TryAllDropOuts<uint32_t>(clients);
    TryAllDropOuts<uint64_t>(clients);
  }
}

TEST(MaskedTest, ManyClientsOfWhichSomeDropOut) {
  const MaskedParameters p{.clients = 13};  // 9 must stay
  EXPECT_EQ(p.least(), 9);
  const Stays stays{0x1fff, 0x1ffe & ~0x20u, 0x1fde & ~0x400u};
  EXPECT_EQ(Must(RunRound<uint32_t>(p, stays)), SumOf<uint32_t>(stays.sends, 13));
}

// What one client sends, whatever its numbers are, fills 256 cells evenly.
TEST(MaskedTest, WhatAClientSendsLooksUniform) {
  const MaskedParameters p{.clients = 2};
  MaskedClient a = Must(MaskedClient::Create(p, 0)), b = Must(MaskedClient::Create(p, 1));
  const std::vector<Advertisement> advertised = {a.advertisement(), b.advertisement()};
  Must(a.Share(advertised).status());
  Must(a.Receive(Must(b.Share(advertised))));
  std::vector<uint32_t> words(1 << 16, 7);
  Must(a.Mask(0, std::span(words)));
  std::vector<double> cells(256);
  for (const uint32_t word : words) cells[word >> 24] += 1;
  double chi = 0;
  for (const double cell : cells) chi += (cell - 256) * (cell - 256) / 256;
  EXPECT_NEAR(chi, 255, 6 * std::sqrt(2 * 255.0));
  // Another chunk has another mask.
  std::vector<uint32_t> other(words.size(), 7);
  Must(a.Mask(1, std::span(other)));
  EXPECT_NE(words, other);
}

// A client never gives both shares of another one, whatever the server asks for.
TEST(MaskedTest, AClientRevealsOnceAndOnlyForEnoughSurvivors) {
  const MaskedParameters p{.clients = 4};
  std::vector<MaskedClient> clients;
  std::vector<Advertisement> advertised;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    advertised.push_back(clients.back().advertisement());
  }
  std::vector<SealedShares> to_first;
  for (MaskedClient& client : clients) {
    for (SealedShares& m : Must(client.Share(advertised))) {
      if (m.to == 0) to_first.push_back(m);
    }
  }
  MaskedClient& client = clients[0];
  std::vector<int> survivors = {0, 1, 2};
  EXPECT_EQ(client.RevealShares(survivors).status().message(),
            "masked sum of round 0: client 0 can do Receive now; one client object makes one sum");
  Must(client.Receive(to_first));
  for (const std::vector<int>& bad : {std::vector<int>{0, 1}, {1, 2, 3}, {0, 1, 1}, {0, 1, 7}}) {
    EXPECT_EQ(client.RevealShares(bad).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(client.holds_secrets());
  const Reveal reveal = Must(client.RevealShares(survivors));
  EXPECT_FALSE(client.holds_secrets()) << "which memory may still show one day";
  ASSERT_EQ(reveal.entries.size(), 4u);
  for (const Reveal::Entry& entry : reveal.entries) EXPECT_EQ(entry.survived, entry.client != 3);
  survivors = {0, 1, 3};
  EXPECT_EQ(client.RevealShares(survivors).status().code(), absl::StatusCode::kFailedPrecondition);
  std::vector<uint32_t> words(1);
  EXPECT_EQ(client.Mask(0, std::span(words)).message(),
            "masked sum of round 0: client 0 can do nothing more now; one client object makes one "
            "sum");
}

// The server would subtract one from the other, and know how the numbers differ.
TEST(MaskedTest, AMaskIsUsedOnce) {
  const MaskedParameters p{.clients = 2};
  MaskedClient a = Must(MaskedClient::Create(p, 0)), b = Must(MaskedClient::Create(p, 1));
  const std::vector<Advertisement> advertised = {a.advertisement(), b.advertisement()};
  Must(a.Share(advertised).status());
  std::vector<uint32_t> words = {1, 2};
  EXPECT_THAT(std::string(a.Mask(7, std::span(words)).message()),
              HasSubstr("client 0 can do Receive now"))
      << "too early";
  Must(a.Receive(Must(b.Share(advertised))));
  Must(a.Mask(7, std::span(words)));
  words = {5, 6};
  const absl::Status status = a.Mask(7, std::span(words));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("chunk 7"));
  EXPECT_EQ(words, std::vector<uint32_t>({5, 6})) << "what is refused is not changed";
  std::vector<uint64_t> wide = {5};
  EXPECT_FALSE(a.Mask(7, std::span(wide)).ok());
  MaskedClient moved = std::move(a);
  EXPECT_FALSE(moved.Mask(7, std::span(words)).ok());
  EXPECT_TRUE(moved.Mask(8, std::span(words)).ok());
}

TEST(MaskedTest, AServerThatChangesKeysIsFoundOut) {
  const MaskedParameters p{.clients = 3};
  std::vector<MaskedClient> clients;
  std::vector<Advertisement> good;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    good.push_back(clients.back().advertisement());
  }
  std::vector<std::vector<Advertisement>> bad(6, good);
  bad[0][0].masking[3] ^= 1;            // its own keys
  bad[1][2].masking = good[1].masking;  // one key for two
  bad[2][2].client = 1;                 // one client twice
  bad[3][2].client = 3;                 // no such client
  bad[4].erase(bad[4].begin());         // without itself
  bad[5].pop_back();                    // fewer than the threshold
  for (const auto& advertised : bad) {
    EXPECT_EQ(clients[0].Share(advertised).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(clients[0].Share(good).ok());
  EXPECT_EQ(clients[0].Share(good).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(MaskedTest, SharesForSomebodyElseOrAnotherRoundAreRefused) {
  const MaskedParameters p{.clients = 2, .round = 1}, later{.clients = 2, .round = 2};
  MaskedClient a = Must(MaskedClient::Create(p, 0)), b = Must(MaskedClient::Create(p, 1));
  const std::vector<Advertisement> advertised = {a.advertisement(), b.advertisement()};
  Must(a.Share(advertised).status());
  const std::vector<SealedShares> good = Must(b.Share(advertised));
  std::vector<SealedShares> bad = good;
  bad[0].to = 1;
  EXPECT_EQ(a.Receive(bad).message(),
            "masked sum: shares from client 1 to client 1 are not for client 0 or come twice");
  bad = good;
  bad[0].sealed[40] ^= 1;
  EXPECT_EQ(a.Receive(bad).code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(a.Receive({}).message(), "masked sum: only 1 clients sent shares, needs 2");
  EXPECT_EQ(absl::OkStatus(), a.Receive(good));

  // The same clients in another round agree on other masks.
  const Secret key = Must(RandomSecret());
  const X25519PublicKey peer = advertised[1].masking;
  EXPECT_FALSE(Must(PairSecret(p, kMaskPurpose, 0, key, 1, peer))
                   .Equals(Must(PairSecret(later, kMaskPurpose, 0, key, 1, peer))));
}

// Keys that two clients agree on, and hashes of masks, are for one purpose, round and pair.
TEST(MaskedTest, SecretsAreOfOnePairInOneRound) {
  const MaskedParameters p{.clients = 5, .round = 1}, later{.clients = 5, .round = 2};
  const Secret mine = Must(RandomSecret()), theirs = Must(RandomSecret());
  const X25519PublicKey my_key = Must(X25519PublicKeyOf(mine));
  const X25519PublicKey their_key = Must(X25519PublicKeyOf(theirs));
  const auto pair = [&](const MaskedParameters& parameters, std::string_view purpose, int one,
                        int other) {
    return Must(PairSecret(parameters, purpose, one, mine, other, their_key));
  };
  const Secret agreed = pair(p, kMaskPurpose, 1, 3);
  EXPECT_TRUE(Must(PairSecret(p, kMaskPurpose, 3, theirs, 1, my_key)).Equals(agreed));
  EXPECT_TRUE(pair(p, kMaskPurpose, 3, 1).Equals(agreed)) << "it has no direction";
  EXPECT_FALSE(pair(p, kMaskPurpose, 1, 2).Equals(agreed));
  EXPECT_FALSE(pair(p, kMaskPurpose, 1, 4).Equals(agreed));
  EXPECT_FALSE(pair(p, kMaskPurpose, 0, 3).Equals(agreed));
  EXPECT_FALSE(pair(later, kMaskPurpose, 1, 3).Equals(agreed));
  EXPECT_FALSE(pair(p, "another purpose", 1, 3).Equals(agreed));
  const Hash hash = Must(HashOfOwnMask(p, 1, mine));
  EXPECT_EQ(Must(HashOfOwnMask(p, 1, mine)), hash);
  EXPECT_NE(Must(HashOfOwnMask(p, 2, mine)), hash);
  EXPECT_NE(Must(HashOfOwnMask(later, 1, mine)), hash);
  EXPECT_NE(Must(HashOfOwnMask(p, 1, theirs)), hash);
}

// Else a client that advertised would be left without its share, and the rest below the threshold.
TEST(MaskedTest, AServerRefusesSharesThatAreNotOnePerOtherClient) {
  const MaskedParameters p{.clients = 3};
  MaskedServer server = Must(MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  const std::vector<SealedShares> good = Must(clients[0].Share(server.advertised()));
  ASSERT_EQ(good.size(), 2u);
  std::vector<std::vector<SealedShares>> bad(6, good);
  bad[0].pop_back();            // one too few
  bad[1].clear();               // none
  bad[2][1].to = good[0].to;    // one twice
  bad[3][0].to = 0;             // to itself
  bad[4][0].to = 3;             // no such client
  bad[5][0].from = good[1].to;  // of another
  for (size_t i = 0; i < bad.size(); ++i) {
    const absl::Status refused = server.AddShares(0, bad[i]);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << i;
    EXPECT_THAT(
        std::string(refused.message()),
        HasSubstr(i < 2 ? "are not for all its neighbours" : "which does not exist or comes twice"))
        << i;
  }
  EXPECT_EQ(server.AddShares(3, {}).message(),
            "masked sum: client 3 has shares, but did not advertise");
  Must(server.AddShares(0, good));
  const std::string again =
      "masked sum: the shares of client 0 are too late, come twice, or are not for all its "
      "neighbours";
  EXPECT_EQ(server.AddShares(0, good).message(), again) << "twice";
  EXPECT_TRUE(server.SharesFor(0).empty());
  EXPECT_EQ(server.FixParticipants(), std::set<int>{0});
  EXPECT_THAT(
      std::string(server.AddShares(1, Must(clients[1].Share(server.advertised()))).message()),
      HasSubstr("the shares of client 1 are too late"));
}

TEST(MaskedTest, AWrongShareIsFoundOutByTheServer) {
  const MaskedParameters p{.clients = 3, .threshold = 2};
  MaskedServer server = Must(MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  for (int i = 0; i < 3; ++i) {
    Must(server.AddShares(i, Must(clients[size_t(i)].Share(server.advertised()))));
  }
  server.FixParticipants();
  const std::vector<int> survivors = {0, 1};
  Must(server.SetSurvivors(survivors));
  EXPECT_EQ(server.SetSurvivors(std::vector<int>{0, 2}).code(), absl::StatusCode::kInvalidArgument)
      << "both kinds of shares of a client would unmask it";
  for (int i = 0; i < 2; ++i) {
    Must(clients[size_t(i)].Receive(server.SharesFor(i)));
    Reveal reveal = Must(clients[size_t(i)].RevealShares(survivors));
    if (i == 0) {
      Reveal twisted = reveal;
      twisted.entries[2].survived = true;
      EXPECT_EQ(server.AddReveal(twisted).message(),
                "masked sum: client 0 reveals what nobody asked for");
      twisted = reveal;
      twisted.entries.pop_back();
      EXPECT_EQ(server.AddReveal(twisted).message(),
                "masked sum: client 0 did not survive, reveals twice, too late, or too little");
      twisted = reveal;
      twisted.client = 2;
      EXPECT_THAT(std::string(server.AddReveal(twisted).message()),
                  HasSubstr("masked sum: client 2 "));
      EXPECT_EQ(server.Rebuild().code(), absl::StatusCode::kFailedPrecondition);
    } else {
      reveal.entries[2].share.bytes()[0] ^= 1;
    }
    Must(server.AddReveal(reveal));
  }
  const absl::Status status = server.Rebuild();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("wrong shares of client 2"));
  std::vector<uint32_t> words(1);
  EXPECT_THAT(std::string(server.Unmask(0, {0, 1}, std::span(words)).message()),
              HasSubstr("masks can be removed only after Rebuild"));
}

// A server meets what it receives before it knows who sends it.
TEST(MaskedTest, MessagesOfNobodyAreRefused) {
  const MaskedParameters p{.clients = 3};
  Advertisement advertisement{.client = 2};
  EXPECT_TRUE(AdvertisementFromBytes(p, ToBytes(advertisement)).ok());
  advertisement.client = 3;
  EXPECT_EQ(AdvertisementFromBytes(p, ToBytes(advertisement)).status().message(),
            "advertisement: there is no client 3 among 3");
  advertisement.client = -1;
  EXPECT_EQ(AdvertisementFromBytes(p, ToBytes(advertisement)).status().message(),
            "advertisement: there is no client 4294967295 among 3");
  MaskedClient a = Must(MaskedClient::Create(p, 0)), b = Must(MaskedClient::Create(p, 1)),
               c = Must(MaskedClient::Create(p, 2));
  const std::vector<Advertisement> advertised = {a.advertisement(), b.advertisement(),
                                                 c.advertisement()};
  const SealedShares good = Must(a.Share(advertised))[0];
  SealedShares bad = good;
  bad.from = 3;
  EXPECT_EQ(SealedSharesFromBytes(p, ToBytes(bad)).status().message(),
            "sealed shares: there is no client 3 among 3");
  bad = good;
  bad.to = 4;
  EXPECT_EQ(SealedSharesFromBytes(p, ToBytes(bad)).status().message(),
            "sealed shares: there is no client 4 among 3");
  const Reveal three = {.client = 2, .entries = {{0, true, {}}, {1, false, {}}, {2, true, {}}}};
  const Reveal back = Must(RevealFromBytes(p, ToBytes(three)));
  EXPECT_EQ(back.client, 2);
  ASSERT_EQ(back.entries.size(), 3u);
  EXPECT_EQ(back.entries[1].client, 1);
  EXPECT_FALSE(back.entries[1].survived);
  EXPECT_TRUE(back.entries[2].survived);
  Reveal reveal = three;
  reveal.client = 3;
  EXPECT_EQ(RevealFromBytes(p, ToBytes(reveal)).status().message(),
            "revealed shares: there is no client 3 among 3");
  reveal = three;
  reveal.entries[1].client = 3;
  EXPECT_EQ(RevealFromBytes(p, ToBytes(reveal)).status().message(),
            "revealed shares: there is no client 3 among 3");
  reveal = three;
  reveal.entries.push_back({0, true, {}});
  EXPECT_EQ(RevealFromBytes(p, ToBytes(reveal)).status().message(),
            "revealed shares: are of 4 clients, there are 3");
  std::vector<uint8_t> bytes = ToBytes(three);
  bytes[12] = 2;  // after two numbers and the first entry's client
  EXPECT_EQ(RevealFromBytes(p, bytes).status().message(),
            "revealed shares: a client is neither there nor gone");
}

TEST(MaskedTest, MessagesOfAnotherLengthAreRefused) {
  const MaskedParameters p{.clients = 2};
  MaskedClient a = Must(MaskedClient::Create(p, 0)), b = Must(MaskedClient::Create(p, 1));
  const std::vector<Advertisement> advertised = {a.advertisement(), b.advertisement()};
  const std::vector<uint8_t> messages[] = {
      ToBytes(a.advertisement()), ToBytes(Must(a.Share(advertised))[0]),
      ToBytes(Reveal{.client = 1, .entries = {{0, true, {}}}})};
  const auto error = [&](size_t kind, std::span<const uint8_t> bytes) {
    return kind == 0   ? AdvertisementFromBytes(p, bytes).status()
           : kind == 1 ? SealedSharesFromBytes(p, bytes).status()
                       : RevealFromBytes(p, bytes).status();
  };
  for (size_t kind = 0; kind < 3; ++kind) {
    std::vector<uint8_t> bytes = messages[kind];
    EXPECT_EQ(error(kind, bytes), absl::OkStatus()) << kind;
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(error(kind, std::span(bytes).first(size)).code(), absl::StatusCode::kDataLoss)
          << kind << ": " << size;
    }
    bytes.push_back(0);
    EXPECT_EQ(error(kind, bytes).code(), absl::StatusCode::kDataLoss) << kind;
  }
}

TEST(MaskedTest, AServerTakesOneAdvertisementOfEachClientInTime) {
  const MaskedParameters p{.clients = 3};
  MaskedServer server = Must(MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Must(MaskedClient::Create(p, i)));
  const auto error = [&](const Advertisement& advertisement) {
    const absl::Status status = server.AddAdvertisement(advertisement);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  Must(server.AddAdvertisement(clients[0].advertisement()));
  EXPECT_EQ(error(clients[0].advertisement()),
            "masked sum: client 0 does not exist, advertises twice, or too late");
  for (const int nobody : {-1, 3}) {
    Advertisement other = clients[1].advertisement();
    other.client = nobody;
    EXPECT_EQ(error(other), "masked sum: client " + std::to_string(nobody) +
                                " does not exist, advertises twice, or too late");
  }
  Advertisement same = clients[1].advertisement();
  same.masking = clients[0].advertisement().sealing;
  EXPECT_EQ(error(same), "masked sum: client 1 advertises a key that is there already");
  same = clients[1].advertisement();
  same.masking = same.sealing;
  EXPECT_EQ(error(same), "masked sum: client 1 advertises a key that is there already");
  Advertisement weak = clients[1].advertisement();
  weak.masking = {};
  EXPECT_THAT(error(weak), HasSubstr("masked sum: a key of client 1: "));
  MaskedServer begun = Must(MaskedServer::Create({.clients = 4, .threshold = 3}));
  for (int i = 0; i < 3; ++i) {
    clients[size_t(i)] = Must(MaskedClient::Create({.clients = 4, .threshold = 3}, i));
    Must(begun.AddAdvertisement(clients[size_t(i)].advertisement()));
  }
  Must(begun.AddShares(0, Must(clients[0].Share(begun.advertised()))));
  const MaskedClient late = Must(MaskedClient::Create({.clients = 4, .threshold = 3}, 3));
  EXPECT_EQ(begun.AddAdvertisement(late.advertisement()).message(),
            "masked sum: client 3 does not exist, advertises twice, or too late");
  EXPECT_TRUE(begun.SharesFor(3).empty());
}

// All that a server asks for comes once, and before the masks are known.
TEST(MaskedTest, RevealsComeOnceAndInTime) {
  const MaskedParameters p{.clients = 3, .threshold = 2, .round = 6};
  MaskedServer server = Must(MaskedServer::Create(p));
  std::vector<MaskedClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Must(MaskedClient::Create(p, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  for (int i = 0; i < 3; ++i) {
    Must(server.AddShares(i, Must(clients[size_t(i)].Share(server.advertised()))));
  }
  const std::vector<int> all = {0, 1, 2}, one = {1};
  EXPECT_EQ(server.SetSurvivors(all).message(),
            "masked sum: survivors are participants, and are set once, when those are fixed");
  server.FixParticipants();
  EXPECT_EQ(server.SetSurvivors(one).message(),
            "masked sum of round 6: only 1 of 3 clients are left, needs 2: the round cannot be "
            "finished");
  Must(server.SetSurvivors(all));
  std::vector<Reveal> reveals;
  for (int i = 0; i < 3; ++i) {
    Must(clients[size_t(i)].Receive(server.SharesFor(i)));
    reveals.push_back(Must(clients[size_t(i)].RevealShares(all)));
  }
  Must(server.AddReveal(reveals[0]));
  EXPECT_EQ(server.AddReveal(reveals[0]).message(),
            "masked sum: client 0 did not survive, reveals twice, too late, or too little");
  Reveal twice = reveals[1];
  twice.entries[2] = twice.entries[0];
  EXPECT_EQ(server.AddReveal(twice).message(),
            "masked sum: client 1 reveals what nobody asked for");
  EXPECT_EQ(server.Rebuild().message(),
            "masked sum of round 6: 1 clients have revealed their shares, needs 2");
  Must(server.AddReveal(reveals[1]));
  Must(server.Rebuild());
  EXPECT_EQ(server.Rebuild().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server.AddReveal(reveals[2]).message(),
            "masked sum: client 2 did not survive, reveals twice, too late, or too little");
}

TEST(MaskedTest, WhatTakesMinutesCanBeStopped) {
  MaskedServer server = Must(MaskedServer::Create({.clients = 3}));
  const std::vector<int> all = {0, 1, 2};
  std::vector<MaskedClient> clients;
  for (const int i : all) {
    clients.push_back(Must(MaskedClient::Create({.clients = 3}, i)));
    Must(server.AddAdvertisement(clients.back().advertisement()));
  }
  for (const int i : all) {
    Must(server.AddShares(i, Must(clients[size_t(i)].Share(server.advertised()))));
  }
  server.FixParticipants();
  Must(server.SetSurvivors(all));
  for (const int i : all) {
    Must(clients[size_t(i)].Receive(server.SharesFor(i)));
    Must(server.AddReveal(Must(clients[size_t(i)].RevealShares(all))));
  }
  std::stop_source before, after;
  before.request_stop();
  EXPECT_EQ(server.Rebuild(before.get_token()).code(), absl::StatusCode::kCancelled);
  Must(server.Rebuild(after.get_token()));
  std::vector<uint32_t> words(1);
  Must(server.Unmask(0, {0, 1, 2}, std::span(words)));
  after.request_stop();
  EXPECT_EQ(server.Unmask(0, {0, 1, 2}, std::span(words)).code(), absl::StatusCode::kCancelled);
}

TEST(MaskedTest, ParametersThatProtectNobodyAreRefused) {
  EXPECT_TRUE(Validate({.clients = 2}).ok());
  EXPECT_TRUE(Validate({.clients = 255}).ok());
  for (const int clients : {1, 256}) {
    EXPECT_EQ(Validate({.clients = clients}).message(),
              "masked sums of " + std::to_string(clients) + " clients: needs 2 to 255");
  }
  for (const int threshold : {2, 5, -1}) {
    EXPECT_EQ(Validate({.clients = 4, .threshold = threshold}).message(),
              "masked sums of 4 clients with a threshold of " + std::to_string(threshold) +
                  ": needs more than half of the clients, 3 for instance");
  }
  for (const int threshold : {3, 4}) {
    EXPECT_TRUE(Validate({.clients = 4, .threshold = threshold}).ok());
  }
  for (const int client : {3, -1}) {
    EXPECT_EQ(MaskedClient::Create({.clients = 3}, client).status().message(),
              "masked sum: there is no client " + std::to_string(client) + " among 3");
  }
}

TEST(FixedPointTest, ThereAndBack) {
  const std::vector<float> values = {0, 1, -1, 0.5f, -123.25f, 1e-9f};
  std::vector<uint32_t> words(values.size());
  Must(ToFixedPoint(std::span(values), 20, 1024, std::span(words)));
  EXPECT_EQ(words[2], uint32_t(-1048576));
  std::vector<float> back(values.size());
  FromFixedPoint(std::span<const uint32_t>(words), 20, std::span(back));
  EXPECT_THAT(back, ::testing::ElementsAre(0, 1, -1, 0.5f, -123.25f, 0));
}

template <typename Word>
void ExpectLargestSumsFit() {
  using Signed = std::make_signed_t<Word>;
  for (const int clients : {2, 3, 8, 255}) {
    const double limit = FixedPointLimit(8 * sizeof(Word), 20, clients);
    const std::vector<double> values = {std::nextafter(limit, 0), -std::nextafter(limit, 0)};
    std::vector<Word> words(2);
    Must(ToFixedPoint(std::span(values), 20, limit, std::span(words)));
    for (Word& word : words) word *= Word(clients);
    EXPECT_GT(Signed(words[0]), 0) << clients;
    EXPECT_LT(Signed(words[1]), 0) << clients;
    // And little of the range is given away.
    EXPECT_GT(limit * clients, 0.99 * std::ldexp(1.0, 8 * sizeof(Word) - 21));
  }
}

TEST(FixedPointTest, LargestSumsStillFit) {
  ExpectLargestSumsFit<uint32_t>();
  ExpectLargestSumsFit<uint64_t>();
}

TEST(FixedPointTest, NumbersOutOfRangeAreRefused) {
  std::vector<uint32_t> words(1);
  for (const float bad : {8.f, -8.f, INFINITY, -INFINITY, NAN}) {
    EXPECT_EQ(ToFixedPoint(std::span<const float>(&bad, 1), 20, 8, std::span(words)).code(),
              absl::StatusCode::kInvalidArgument);
  }
  const std::vector<float> two(2);
  EXPECT_EQ(ToFixedPoint(std::span(two), 20, 8, std::span(words)).message(),
            "cannot write 2 numbers to 1 words");
}

}  // namespace
}  // namespace dtnn::masked
