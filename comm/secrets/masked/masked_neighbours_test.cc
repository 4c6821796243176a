// Masked sums of clients that have a few neighbours each.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/masked/mask_graph.h"
#include "comm/secrets/masked/masked_client.h"
#include "comm/secrets/masked/masked_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/status_macros.h"

namespace dtnn::masked {
namespace {

using ::testing::HasSubstr;

constexpr MaskedParameters kTwelve = {.clients = 12, .round = 5, .neighbours = 4};

std::vector<int> ListOf(const std::set<int>& clients) { return {clients.begin(), clients.end()}; }

std::set<int> Without(std::set<int> clients, const std::set<int>& gone) {
  for (const int client : gone) clients.erase(client);
  return clients;
}

// A sum up to the numbers, with all clients.
class Sum {
 public:
  explicit Sum(const MaskedParameters& parameters, const Bond& bond = {})
      : parameters_(parameters), server_(Must(MaskedServer::Create(parameters))) {
    for (int i = 0; i < parameters.clients; ++i) {
      clients_.push_back(Must(MaskedClient::Create(parameters, i, bond)));
      Must(server_.AddAdvertisement(clients_.back().advertisement()));
      all_.insert(i);
    }
    graph_ = Must(MaskGraph::Draw(parameters, server_.advertised(), {}));
  }

  void Share(const std::set<int>& who) {
    for (const int i : who) {
      std::vector<SealedShares> messages = Must(client(i).Share(server_.advertised()));
      for (SealedShares& m : messages) m = Must(SealedSharesFromBytes(parameters_, ToBytes(m)));
      Must(server_.AddShares(i, messages));
    }
  }
  // All of them, or those.
  void ShareAndReceive() {
    Share(all_);
    for (const int i : server_.FixParticipants()) Must(client(i).Receive(server_.SharesFor(i)));
  }
  std::vector<Vote> Votes(const std::set<int>& survivors) {
    std::vector<Vote> votes;
    for (const int i : survivors) votes.push_back(Must(client(i).VoteFor(ListOf(survivors))));
    return votes;
  }

  MaskedClient& client(int i) { return clients_[size_t(i)]; }
  // A neighbour of client 0, and one that is not.
  int Neighbour() const { return graph_->Around(0)[0]; }
  int FarClient() const {
    return *std::ranges::find_if(all_,
                                 [this](int i) { return i != 0 && !graph_->AreNeighbours(0, i); });
  }

  const MaskedParameters parameters_;
  MaskedServer server_;
  std::vector<MaskedClient> clients_;
  std::optional<MaskGraph> graph_;
  std::set<int> all_;
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

struct Stays {
  std::set<int> share, send, vote, reveal;
};

// The sum of one number each, which is 1000 and the client's number, or the first error.
absl::StatusOr<uint32_t> RunRound(Sum& sum, const Stays& stays) {
  const MaskedParameters& p = sum.parameters_;
  sum.Share(stays.share);
  const std::set<int> participants = sum.server_.FixParticipants();
  DTNN_RETURN_IF_ERROR(sum.server_.CheckParticipants());
  std::set<int> survivors;
  std::vector<uint32_t> total(1);
  for (const int i : participants) {
    DTNN_RETURN_IF_ERROR(sum.client(i).Receive(sum.server_.SharesFor(i)));
    if (!stays.send.contains(i)) continue;
    survivors.insert(i);
    std::vector<uint32_t> words = {1000 + uint32_t(i)};
    DTNN_RETURN_IF_ERROR(sum.client(i).Mask(0, std::span(words)));
    total[0] += words[0];
  }
  DTNN_RETURN_IF_ERROR(sum.server_.SetSurvivors(ListOf(survivors)));
  for (const int i : survivors) {
    if (!stays.vote.contains(i)) continue;
    DTNN_ASSIGN_OR_RETURN(const Vote vote, sum.client(i).VoteFor(ListOf(survivors)));
    DTNN_RETURN_IF_ERROR(sum.server_.AddVote(Must(VoteFromBytes(p, ToBytes(vote)))));
  }
  std::vector<Vote> votes;
  for (const auto& [client, vote] : sum.server_.votes()) votes.push_back(vote);
  for (const Vote& vote : votes) {
    if (!stays.reveal.contains(vote.client)) continue;
    DTNN_ASSIGN_OR_RETURN(const Reveal reveal, sum.client(vote.client).RevealShares(votes));
    DTNN_RETURN_IF_ERROR(sum.server_.AddReveal(Must(RevealFromBytes(p, ToBytes(reveal)))));
  }
  DTNN_RETURN_IF_ERROR(sum.server_.Rebuild());
  DTNN_RETURN_IF_ERROR(sum.server_.Unmask(0, survivors, std::span(total)));
  return total[0];
}

// Whether enough clients stay, everywhere, by the rules of the header; `senders` are those of the
// sum.
bool AreEnough(const Sum& sum, const Stays& stays, std::set<int>& senders) {
  const auto all_around = [&](const std::set<int>& of, const std::set<int>& there) {
    return std::ranges::all_of(of, [&](int i) {
      int count = 0;
      for (const int j : there) count += i == j || sum.graph_->AreNeighbours(i, j) ? 1 : 0;
      return count >= sum.parameters_.shares_needed();
    });
  };
  const auto common = [](const std::set<int>& one, const std::set<int>& other) {
    std::set<int> both;
    for (const int i : one) {
      if (other.contains(i)) both.insert(i);
    }
    return both;
  };
  const std::set<int>& participants = stays.share;
  senders = common(participants, stays.send);
  const std::set<int> vote = common(senders, stays.vote), reveal = common(vote, stays.reveal);
  EXPECT_TRUE(sum.graph_->AreConnected(senders) || !all_around(participants, senders));
  return int(vote.size()) >= sum.parameters_.least() && all_around(participants, reveal);
}

TEST(MaskedNeighboursTest, TheSumOfThoseWhoStayOrNone) {
  std::mt19937 random(3);
  int finished = 0, refused = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const MaskedParameters p = trial % 2 == 0
                                   ? MaskedParameters{.clients = 16, .round = 5, .neighbours = 8}
                                   : MaskedParameters{.clients = 18, .neighbours = 14};
    Sum sum(p);
    const auto some_of = [&](const std::set<int>& clients) {
      std::set<int> some;
      for (const int i : clients) {
        if (random() % (trial < 20 ? 10 : 50) > 0) some.insert(i);
      }
      return some;
    };
    Stays stays;
    stays.share = some_of(sum.all_);
    stays.send = some_of(stays.share);
    stays.vote = some_of(stays.send);
    stays.reveal = some_of(stays.vote);
    std::set<int> senders;
    const bool enough = AreEnough(sum, stays, senders);
    const absl::StatusOr<uint32_t> result = RunRound(sum, stays);
    ASSERT_EQ(result.ok(), enough) << trial << ": " << result.status();
    enough ? ++finished : ++refused;
    if (!enough) continue;
    uint32_t expected = 0;
    for (const int i : senders) expected += 1000 + uint32_t(i);
    EXPECT_EQ(*result, expected) << trial;
  }
  EXPECT_GT(finished, 8);
  EXPECT_GT(refused, 8);
}

TEST(MaskedNeighboursTest, MoreClientsThanASecretCanHaveShares) {
  Sum sum({.clients = 300, .neighbours = 8});
  const std::set<int> gone = {3, 299};
  const Stays stays = {sum.all_, Without(sum.all_, gone), sum.all_, sum.all_};
  EXPECT_EQ(Must(RunRound(sum, stays)), 300u * 1000 + 299 * 300 / 2 - 1003 - 1299);
}

TEST(MaskedNeighboursTest, OnlyNeighboursGetShares) {
  Sum sum(kTwelve);
  const std::vector<SealedShares> shares = Must(sum.client(0).Share(sum.server_.advertised()));
  std::set<int> receivers;
  for (const SealedShares& message : shares) receivers.insert(message.to);
  EXPECT_EQ(shares.size(), 4u);
  for (const int i : sum.all_) {
    EXPECT_EQ(receivers.contains(i), sum.graph_->AreNeighbours(0, i)) << i;
  }
  // A share for a client that is far, in place of one for a neighbour or besides.
  std::vector<SealedShares> bad = shares;
  bad[1].to = sum.FarClient();
  EXPECT_THAT(Message(sum.server_.AddShares(0, bad)), HasSubstr("which does not exist"));
  bad = shares;
  bad.push_back(shares[0]);
  bad.back().to = sum.FarClient();
  EXPECT_FALSE(sum.server_.AddShares(0, bad).ok());
  bad = shares;
  bad.pop_back();
  EXPECT_EQ(sum.server_.AddShares(0, bad).message(),
            "masked sum: the shares of client 0 are too late, come twice, or are not for all its "
            "neighbours");
  EXPECT_EQ(absl::OkStatus(), sum.server_.AddShares(0, shares));
  // Nor does a client take one from a client that is far.
  const int far = sum.FarClient();
  SealedShares made_up = Must(sum.client(far).Share(sum.server_.advertised()))[0];
  made_up.to = 0;
  EXPECT_EQ(sum.client(0).Receive({&made_up, 1}).message(),
            "masked sum: shares from client " + std::to_string(far) +
                " to client 0 are not for client 0 or come twice");
}

TEST(MaskedNeighboursTest, ANeighbourhoodThatIsTooSmallTakesNoPart) {
  Sum sum(kTwelve);
  std::vector<Advertisement> advertised = sum.server_.advertised();
  const std::vector<int> around = sum.graph_->Around(0);
  // The order follows from what is advertised, so those who are missing are looked for.
  int refused = 0;
  for (size_t a = 1; a < 12; ++a) {
    for (size_t b = a + 1; b < 12; ++b) {
      std::vector<Advertisement> fewer = advertised;
      fewer.erase(fewer.begin() + int(b));
      fewer.erase(fewer.begin() + int(a));
      const MaskGraph graph = Must(MaskGraph::Draw(kTwelve, fewer, {}));
      std::set<int> there;
      for (const Advertisement& one : fewer) there.insert(one.client);
      if (graph.CountAround(0, there) != 3 || refused > 0) continue;
      ++refused;
      EXPECT_EQ(sum.client(0).Share(fewer).status().message(),
                "masked sum: only 3 around client 0 advertised, needs 4");
    }
  }
  EXPECT_EQ(refused, 1);
}

TEST(MaskedNeighboursTest, AClientVotesOnceForAListThatHidesIt) {
  Sum sum(kTwelve, {.key = Must(RandomSecret())});
  sum.ShareAndReceive();
  MaskedClient& client = sum.client(0);
  const auto error = [&](const std::set<int>& survivors) {
    const absl::Status status = client.VoteFor(ListOf(survivors)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Message(status);
  };
  EXPECT_THAT(error(Without(sum.all_, {0})), HasSubstr("itself among them"));
  std::set<int> eight = sum.all_;
  while (eight.size() > 8) eight.erase(std::prev(eight.end()));
  EXPECT_THAT(error(eight), HasSubstr("reveals nothing for 8 survivors: needs 9"));
  std::set<int> more = sum.all_;
  more.insert(12);
  EXPECT_EQ(error(more), "masked sum: client 12 cannot survive, it never shared");
  EXPECT_EQ(client.RevealShares(ListOf(sum.all_)).status().message(),
            "masked sum: shares for neighbours are revealed after a vote");
  const std::set<int> fewer = Without(sum.all_, {sum.Neighbour()});
  EXPECT_TRUE(client.VoteFor(ListOf(sum.all_)).ok());
  EXPECT_EQ(client.VoteFor(ListOf(fewer)).status().code(), absl::StatusCode::kFailedPrecondition)
      << "each neighbour of the one that is not there would be asked for both of its shares";
  EXPECT_FALSE(client.RevealShares(ListOf(fewer)).ok());
  EXPECT_TRUE(client.holds_secrets());
}

TEST(MaskedNeighboursTest, SharesAreRevealedForTheListThatMostHave) {
  Sum sum(kTwelve, {.key = Must(RandomSecret())});
  sum.ShareAndReceive();
  const std::set<int> fewer = Without(sum.all_, {sum.Neighbour()});
  std::vector<Vote> votes, others;
  for (const int i : fewer) {
    const bool all = votes.size() < 8;  // one too few, whichever neighbour is missing
    std::vector<Vote>& of = all ? votes : others;
    of.push_back(Must(sum.client(i).VoteFor(ListOf(all ? sum.all_ : fewer))));
  }
  MaskedClient& client = sum.client(0);
  const auto error = [&](std::span<const Vote> list) {
    const absl::Status status = client.RevealShares(list).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return Message(status);
  };
  EXPECT_EQ(error(others),
            "masked sum: only 0 clients have the same list of survivors as client 0, needs 9");
  std::vector<Vote> bad = votes;
  bad.insert(bad.end(), others.begin(), others.end());
  EXPECT_THAT(error(bad), HasSubstr("only 8 clients"));
  // One vote as several clients', or several times.
  while (bad.size() < 40) bad.push_back(votes[0]);
  for (int i = 0; i < 12; ++i) bad.push_back({.client = i, .proof = votes[0].proof});
  EXPECT_THAT(error(bad), HasSubstr("only 8 clients"));
  EXPECT_TRUE(client.holds_secrets());
}

// It has advertised, and may have shared with all others.
TEST(MaskedNeighboursTest, ANeighbourWhoseSharesWereWithheldCannotSurvive) {
  const MaskedParameters p = {.clients = 24, .neighbours = 8};
  Sum sum(p);
  sum.Share(sum.all_);
  const int withheld = sum.Neighbour();
  std::vector<SealedShares> shares = sum.server_.SharesFor(0);
  ASSERT_EQ(std::erase_if(shares, [&](const SealedShares& m) { return m.from == withheld; }), 1u);
  Must(sum.client(0).Receive(shares));
  EXPECT_EQ(sum.client(0).VoteFor(ListOf(sum.all_)).status().message(),
            "masked sum: client " + std::to_string(withheld) + " cannot survive, it never shared");
  EXPECT_TRUE(sum.client(0).VoteFor(ListOf(Without(sum.all_, {withheld}))).ok());
}

// Two gaps as long as a client reaches: two parts, which both have enough clients in all.
TEST(MaskedNeighboursTest, NobodyVotesForAListThatIsNotConnected) {
  Sum sum({.clients = 24, .neighbours = 4});
  sum.ShareAndReceive();
  std::vector<int> circle = {0};
  std::set<int> seen = {0};
  while (circle.size() < 24) {
    const std::vector<int> around = sum.graph_->Around(circle.back());
    circle.push_back(around[3]);  // the next one
    ASSERT_TRUE(seen.insert(circle.back()).second);
  }
  const std::set<int> one_gap = Without(sum.all_, {circle[6], circle[7]});
  const std::set<int> two_gaps = Without(one_gap, {circle[16], circle[17]});
  ASSERT_GE(int(two_gaps.size()), sum.parameters_.least());
  const absl::Status status = sum.client(0).VoteFor(ListOf(two_gaps)).status();
  EXPECT_THAT(Message(status), HasSubstr("fall into groups without common masks"));
  EXPECT_TRUE(sum.client(0).VoteFor(ListOf(one_gap)).ok());
}

TEST(MaskedNeighboursTest, VotesOfAnEarlierSumDoNotCount) {
  const Bond bond = {.key = Must(RandomSecret())};
  Sum before(kTwelve, bond), now(kTwelve, bond);
  before.ShareAndReceive();
  now.ShareAndReceive();
  const std::vector<Vote> votes = before.Votes(before.all_);
  Must(now.client(0).VoteFor(ListOf(now.all_)).status());
  EXPECT_THAT(Message(now.client(0).RevealShares(votes).status()), HasSubstr("only 0 clients"));
}

// It is drawn when no more advertise, so nobody can advertise what suits it.
TEST(MaskedNeighboursTest, TheServerDrawsWhenNoMoreAdvertise) {
  Sum sum(kTwelve), other(kTwelve);
  const Hash drawn = Must(sum.server_.CloseAdvertised());
  EXPECT_NE(Must(other.server_.CloseAdvertised()), drawn);
  EXPECT_EQ(sum.server_.CloseAdvertised().status(),
            absl::FailedPreconditionError("masked sum: advertising is closed already"));
  const std::vector<Advertisement> advertised = sum.server_.advertised();
  const std::vector<SealedShares> shares = Must(sum.client(0).Share(advertised, drawn));
  EXPECT_EQ(absl::OkStatus(), sum.server_.AddShares(0, shares));
  // Clients that have got different bytes cannot open each other's shares.
  const int to = shares[0].to;
  const MaskGraph same = Must(MaskGraph::Draw(kTwelve, advertised, drawn));
  ASSERT_TRUE(same.AreNeighbours(0, to));
  Hash changed = drawn;
  while (!Must(MaskGraph::Draw(kTwelve, advertised, changed)).AreNeighbours(0, to) ||
         changed == drawn) {
    ++changed[0];
  }
  Must(sum.client(to).Share(advertised, changed).status());
  EXPECT_EQ(sum.client(to).Receive({&shares[0], 1}).code(), absl::StatusCode::kUnauthenticated);
}

// Some that lie do not keep the others from their sum; they are not counted.
TEST(MaskedNeighboursTest, WrongVotesArePassedOver) {
  Sum sum(kTwelve);
  sum.ShareAndReceive();
  std::vector<Vote> votes = sum.Votes(sum.all_);
  for (const size_t i : {4u, 5u, 6u}) votes[i].proof[3] ^= 1;
  const Reveal reveal = Must(sum.client(0).RevealShares(votes));
  EXPECT_EQ(reveal.entries.size(), 5u) << "of itself and its neighbours";
  for (const Reveal::Entry& entry : reveal.entries) {
    EXPECT_TRUE(entry.client == 0 || sum.graph_->AreNeighbours(0, entry.client));
    EXPECT_TRUE(entry.survived);
  }
  EXPECT_FALSE(sum.client(0).holds_secrets());
  votes[7].proof[0] ^= 1;
  EXPECT_THAT(Message(sum.client(1).RevealShares(votes).status()), HasSubstr("only 8 clients"));
}

// A server without the clients' key cannot vote for them.
TEST(MaskedNeighboursTest, VotesNeedTheKeyOfTheClients) {
  Sum sum(kTwelve, {.key = Must(RandomSecret())}), other(kTwelve);
  sum.ShareAndReceive();
  other.ShareAndReceive();
  Must(sum.client(0).VoteFor(ListOf(sum.all_)).status());
  EXPECT_THAT(Message(sum.client(0).RevealShares(other.Votes(other.all_)).status()),
              HasSubstr("only 0 clients"));
}

TEST(MaskedNeighboursTest, AServerTakesVotesAndRevealsOnceAndOfWhoIsAsked) {
  Sum sum(kTwelve);
  sum.ShareAndReceive();
  const std::set<int> fewer = Without(sum.all_, {sum.FarClient()});
  EXPECT_FALSE(sum.server_.AddVote({.client = 0}).ok()) << "before it has survivors";
  Must(sum.server_.SetSurvivors(ListOf(fewer)));
  const std::vector<Vote> votes = sum.Votes(fewer);
  for (const Vote& vote : votes) Must(sum.server_.AddVote(vote));
  EXPECT_EQ(sum.server_.AddVote(votes[0]).message(),
            "masked sum: client 0 votes without being asked, twice, or too late");
  EXPECT_FALSE(sum.server_.AddVote({.client = sum.FarClient()}).ok());
  const Reveal good = Must(sum.client(0).RevealShares(votes));
  // A share of a client that is far, which may have given it.
  Reveal bad = good;
  bad.entries[0].client = sum.FarClient();
  bad.entries[0].survived = false;
  EXPECT_EQ(sum.server_.AddReveal(bad).message(),
            "masked sum: client 0 reveals what nobody asked for");
  bad = good;
  bad.entries.pop_back();
  EXPECT_FALSE(sum.server_.AddReveal(bad).ok());
  // Both of one client's.
  bad = good;
  bad.entries.push_back(good.entries[0]);
  bad.entries.back().survived = false;
  EXPECT_FALSE(sum.server_.AddReveal(bad).ok());
  EXPECT_EQ(absl::OkStatus(), sum.server_.AddReveal(good));
  EXPECT_FALSE(sum.server_.AddVote(votes[1]).ok()) << "too late";
  EXPECT_EQ(sum.server_.Rebuild().message(),
            "masked sum of round 5: 1 clients have revealed their shares, needs 4");
}

TEST(MaskedNeighboursTest, AServerSaysWhyARoundIsLost) {
  const MaskedParameters p = {.clients = 40, .round = 2, .neighbours = 12};
  Sum sum(p);
  sum.ShareAndReceive();
  // Six of the 13 that have shares of client 1.
  std::set<int> gone;
  for (const int i : sum.graph_->Around(1)) {
    if (i != 1 && gone.size() < 6) gone.insert(i);
  }
  EXPECT_EQ(absl::OkStatus(), sum.server_.CheckParticipants());
  const absl::Status status = sum.server_.SetSurvivors(ListOf(Without(sum.all_, gone)));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status),
              ::testing::MatchesRegex("masked sum of round 2: only [1-7] of the 13 clients that "
                                      "have shares of client [0-9]+ are left, needs 8: the round "
                                      "cannot be finished"));
  Must(sum.server_.SetSurvivors(ListOf(sum.all_)));
}

TEST(MaskedNeighboursTest, ARoundIsLostBeforeAnyTrainsWhereTooFewShare) {
  Sum sum({.clients = 40, .round = 2, .neighbours = 12});
  std::set<int> gone;
  for (const int i : sum.graph_->Around(1)) {
    if (i != 1 && gone.size() < 6) gone.insert(i);
  }
  sum.Share(Without(sum.all_, gone));
  sum.server_.FixParticipants();
  EXPECT_THAT(Message(sum.server_.CheckParticipants()), HasSubstr(" are left, needs 8: "));
}

// A wrong share is found, and its two ends are named by their numbers as clients.
TEST(MaskedNeighboursTest, AWrongShareIsNamed) {
  Sum sum({.clients = 16, .neighbours = 8});
  sum.ShareAndReceive();
  Must(sum.server_.SetSurvivors(ListOf(sum.all_)));
  const std::vector<Vote> votes = sum.Votes(sum.all_);
  for (const Vote& vote : votes) Must(sum.server_.AddVote(vote));
  const int of = sum.Neighbour();
  for (const int i : sum.all_) {
    Reveal reveal = Must(sum.client(i).RevealShares(votes));
    for (Reveal::Entry& entry : reveal.entries) {
      if (i == 0 && entry.client == of) entry.share.bytes()[7] ^= 1;
    }
    Must(sum.server_.AddReveal(reveal));
  }
  Must(sum.server_.Rebuild());
  ASSERT_EQ(sum.server_.wrong_shares().size(), 1u);
  EXPECT_EQ(sum.server_.wrong_shares()[0].of, of);
  EXPECT_EQ(sum.server_.wrong_shares()[0].from, 0);
}

// Four or five of the 31 shares of a secret are wrong, so that one choice of 17 in 60 is good: too
// many tries for all secrets, and found for the first ones only.
TEST(MaskedNeighboursTest, ClientsWhoseSharesWereWrongAreTriedLast) {
  Sum sum({.clients = 40, .neighbours = 30});
  sum.ShareAndReceive();
  Must(sum.server_.SetSurvivors(ListOf(sum.all_)));
  const std::vector<Vote> votes = sum.Votes(sum.all_);
  for (const Vote& vote : votes) Must(sum.server_.AddVote(vote));
  for (const int i : sum.all_) {
    Reveal reveal = Must(sum.client(i).RevealShares(votes));
    for (Reveal::Entry& entry : reveal.entries) {
      if (i % 7 != 3) continue;
      for (int k = 0; k < 32; ++k) entry.share.bytes()[size_t(k)] ^= uint8_t(1 + i * (k + 3) % 255);
    }
    Must(sum.server_.AddReveal(reveal));
  }
  EXPECT_EQ(sum.server_.Rebuild(), absl::OkStatus());
  EXPECT_EQ(sum.server_.wrong_shares().size(), 6u * 31);
  for (const MaskedServer::WrongShare& wrong : sum.server_.wrong_shares()) {
    EXPECT_EQ(wrong.from % 7, 3);
  }
}

// Whether some part of a list of survivors can be read by itself, by a server that withholds shares
// between the part and the rest: for all lists and all parts.
int PartsThatCanBeRead(int clients, int neighbours, int threshold) {
  const MaskedParameters p = {.clients = clients, .neighbours = neighbours};
  Sum sum(p);
  std::vector<unsigned> around;
  for (int i = 0; i < clients; ++i) {
    unsigned bits = 0;
    for (const int j : sum.graph_->Around(i)) bits |= 1u << j;
    around.push_back(bits);
  }
  const auto members = [](unsigned set) {
    std::set<int> list;
    for (int i = 0; set >> i != 0; ++i) {
      if (set >> i & 1) list.insert(i);
    }
    return list;
  };
  const auto all_of = [&](unsigned set, const auto& predicate) {
    return std::ranges::all_of(members(set), predicate);
  };
  int read = 0;
  for (unsigned list = 1; list < 1u << clients; ++list) {
    if (!sum.graph_->AreConnected(members(list))) continue;
    for (unsigned part = (list - 1) & list; part != 0; part = (part - 1) & list) {
      const unsigned rest = list & ~part;
      unsigned reveals = rest;
      for (const int i : members(part)) {
        if ((around[size_t(i)] & rest) == 0) reveals |= 1u << i;
      }
      const auto count = [&](int i, unsigned set) {
        return __builtin_popcount(around[size_t(i)] & set);
      };
      read += all_of(part, [&](int i) {
        return count(i, ~rest) >= threshold && count(i, reveals) >= threshold;
      });
    }
  }
  return read;
}

TEST(MaskedNeighboursTest, NoPartOfAListCanBeReadByItself) {
  EXPECT_EQ(PartsThatCanBeRead(10, 4, ThresholdOf(4)), 0);
  EXPECT_EQ(PartsThatCanBeRead(10, 6, ThresholdOf(6)), 0);
  EXPECT_GT(PartsThatCanBeRead(10, 4, ThresholdOf(4) - 1), 0) << "as the search would find";
}

TEST(MaskedNeighboursTest, ParametersThatProtectNobodyAreRefused) {
  const auto error = [](const MaskedParameters& p) { return Message(Validate(p)); };
  EXPECT_EQ(error({.clients = 6, .neighbours = 4}), "");
  EXPECT_EQ(error({.clients = 1024, .neighbours = 254}), "");
  EXPECT_EQ(error({.clients = 1025, .neighbours = 254}),
            "masked sums of 1025 clients with 254 neighbours each: needs an even number from 4 to "
            "254, below 1024, of 1024 clients at most");
  for (const int neighbours : {-2, 2, 5, 256, 40}) {
    EXPECT_THAT(error({.clients = neighbours == 40 ? 41 : 600, .neighbours = neighbours}),
                HasSubstr("needs an even number"));
  }
  EXPECT_EQ(error({.clients = 20, .threshold = 6, .neighbours = 8}), "");
  EXPECT_EQ(error({.clients = 20, .threshold = 5, .neighbours = 8}),
            "masked sums with 8 neighbours and a threshold of 5: needs 6 to 8");
  EXPECT_FALSE(Validate({.clients = 20, .threshold = 9, .neighbours = 8}).ok());
  EXPECT_FALSE(Validate({.clients = 20, .threshold = -1, .neighbours = 8}).ok());
}

TEST(MaskedNeighboursTest, VotesAreReadWithoutTrust) {
  const Vote vote = {.client = 11, .proof = {1, 2, 3}};
  std::vector<uint8_t> bytes = ToBytes(vote);
  EXPECT_EQ(Must(VoteFromBytes(kTwelve, bytes)).proof, vote.proof);
  EXPECT_EQ(VoteFromBytes(kTwelve, ToBytes(Vote{.client = 12})).status().message(),
            "vote: there is no client 12 among 12");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(VoteFromBytes(kTwelve, std::span(bytes).first(size)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  bytes.push_back(0);
  EXPECT_FALSE(VoteFromBytes(kTwelve, bytes).ok());
  const Reveal six = {.client = 1, .entries = std::vector<Reveal::Entry>(6)};
  EXPECT_EQ(RevealFromBytes(kTwelve, ToBytes(six)).status().message(),
            "revealed shares: are of 6 clients, there are 5");
}

}  // namespace
}  // namespace dtnn::masked
