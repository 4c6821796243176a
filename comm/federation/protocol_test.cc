// Sums whose aggregator gives each client what it likes, and clients that have received
// different messages.

#include "comm/federation/protocol.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kClients = 3;

class ProtocolTest : public ::testing::TestWithParam<Protection> {
 protected:
  SumFacts Facts() const {
    return {.attempt = 4, .participants = kClients, .chunks = protector_.chunks(10)};
  }

  std::unique_ptr<ClientProtocol> Client(int position, const std::optional<Secret>& key,
                                         const SumFacts& facts) const {
    return Must(MakeClientProtocol(protector_, facts, position, key));
  }
  std::vector<std::unique_ptr<ClientProtocol>> Clients(const std::optional<Secret>& key) const {
    std::vector<std::unique_ptr<ClientProtocol>> clients;
    for (int i = 0; i < kClients; ++i) clients.push_back(Client(i, key, Facts()));
    return clients;
  }

  // What the aggregator does with what a client has said, and with what it tells a client.
  std::function<void(int note, int position, Bytes& reply)> replace_reply_;
  std::function<void(int note, int position, Bytes& body)> replace_note_;

  // The set-up of a sum of these clients; what each of them says in the end, or where it stops.
  std::vector<absl::Status> SetUp(const std::vector<std::unique_ptr<ClientProtocol>>& clients) {
    const auto server = Must(MakeServerProtocol(protector_, Facts()));
    std::vector<absl::Status> ends(kClients);
    std::vector<Bytes> replies;
    for (const auto& client : clients) replies.push_back(Must(client->FirstReply()));
    for (int note = 0; note < server->setup_notes(); ++note) {
      for (int i = 0; i < kClients; ++i) {
        if (replace_reply_) replace_reply_(note, i, replies[size_t(i)]);
        // A client that has stopped sends no reply.
        if (!server->TakeReply(note, i, replies[size_t(i)]).ok()) return ends;
      }
      for (const auto& [position, body] : Must(server->Note(note))) {
        Bytes told = *body;
        if (replace_note_) replace_note_(note, position, told);
        absl::StatusOr<std::optional<Bytes>> reply =
            clients[size_t(position)]->TakeNote(note, told);
        ends[size_t(position)].Update(reply.status());
        if (reply.ok() && *reply) replies[size_t(position)] = **std::move(reply);
      }
    }
    return ends;
  }

  const Protector protector_ = Must(Protector::Create({.protection = GetParam()}, 10));
  const Secret key_ = Must(RandomSecret());
};

INSTANTIATE_TEST_SUITE_P(All, ProtocolTest,
                         ::testing::Values(Protection::kMasked, Protection::kThreshold),
                         [](const auto& info) {
                           return info.param == Protection::kMasked ? "masked" : "openfhe";
                         });

TEST_P(ProtocolTest, ClientsThatWereToldTheSameAgreeWithAndWithoutAKey) {
  EXPECT_THAT(SetUp(Clients(std::nullopt)), Each(absl::OkStatus()));
  EXPECT_THAT(SetUp(Clients(key_)), Each(absl::OkStatus()));
}

// All keys and shares that client 0 gets are the aggregator's own.
TEST_P(ProtocolTest, WhoHasNotTheKeyCannotPlayTheOtherClients) {
  auto clients = Clients(std::nullopt);
  clients[0] = Client(0, key_, Facts());
  EXPECT_TRUE(absl::IsUnauthenticated(SetUp(clients)[0]));
  EXPECT_TRUE(clients[0]->culprit().has_value());
}

// Other weights or other parameters, for instance, of which an update of nothing would come.
TEST_P(ProtocolTest, ClientsThatWereToldDifferentThingsMakeNoSum) {
  for (const bool with_key : {false, true}) {
    const std::optional<Secret> key = with_key ? std::optional(key_) : std::nullopt;
    auto clients = Clients(key);
    SumFacts facts = Facts();
    facts.facts[31] ^= 1;
    clients[1] = Client(1, key, facts);
    const std::vector<absl::Status> ends = SetUp(clients);
    for (const absl::Status& end : ends) EXPECT_TRUE(absl::IsUnauthenticated(end)) << end;
  }
}

// What client 1 said in an earlier sum with the same messages is not an answer to new keys.
TEST_P(ProtocolTest, WhatAClientSaidBeforeIsNotTakenAgain) {
  std::vector<Bytes> recorded;
  replace_reply_ = [&](int, int position, Bytes& reply) {
    if (position == 1) recorded.push_back(reply);
  };
  EXPECT_THAT(SetUp(Clients(key_)), Each(absl::OkStatus()));
  ASSERT_EQ(recorded.size(), 2u);
  replace_reply_ = [&](int note, int position, Bytes& reply) {
    if (position == 1) reply = recorded[size_t(note)];
  };
  const std::vector<absl::Status> ends = SetUp(Clients(key_));
  EXPECT_TRUE(absl::IsUnauthenticated(ends[0])) << ends[0];
  EXPECT_TRUE(absl::IsUnauthenticated(ends[2])) << ends[2];
}

class ThresholdProtocolTest : public ProtocolTest {};
INSTANTIATE_TEST_SUITE_P(Threshold, ThresholdProtocolTest,
                         ::testing::Values(Protection::kThreshold));

// In either note client 2 finds, in place of its own entry, client 1's.
TEST_P(ThresholdProtocolTest, AClientFindsItsOwnShareInWhatAllAreTold) {
  for (const int in : {0, 1}) {
    replace_note_ = [in](int note, int position, Bytes& body) {
      if (note != in || position != 2) return;
      std::vector<Bytes> list = Must(ListFromBytes(body, kClients));
      list[2] = list[1];
      body = ListToBytes(list);
    };
    const std::vector<absl::Status> ends = SetUp(Clients(key_));
    EXPECT_TRUE(absl::IsUnauthenticated(ends[2])) << ends[2];
    EXPECT_THAT(std::string(ends[2].message()), HasSubstr("another share of the joint key"));
  }
}

// One client's ciphertext shows its update; c1 made up by the aggregator shows the key.
TEST_P(ThresholdProtocolTest, AClientDecryptsTheSumAndNothingElse) {
  const auto clients = Clients(key_);
  EXPECT_THAT(SetUp(clients), Each(absl::OkStatus()));
  const auto server = Must(Must(MakeServerProtocol(protector_, Facts()))->MakeCodec());
  const auto sum = Must(server->NewSum({4, 0}, 10));
  std::vector<std::unique_ptr<codec::ClientCodec>> codecs;
  std::vector<Bytes> bodies;
  const std::vector<float> numbers(10, 0.5f);
  for (int i = 0; i < kClients; ++i) {
    codecs.push_back(Must(clients[size_t(i)]->MakeCodec()));
    bodies.push_back(Must(codecs.back()->Encode({4, 0}, numbers)));
    Must(sum->Add(i, bodies.back()));
  }
  const auto two = Must(server->NewSum({4, 0}, 10));
  Must(two->Add(0, bodies[0]));
  Must(two->Add(1, bodies[1]));
  for (const Bytes& question : {bodies[0], bodies[1], Must(two->Question())}) {
    EXPECT_TRUE(absl::IsUnauthenticated(codecs[0]->Answer({4, 0}, question).status()));
  }
  const Bytes question = Must(sum->Question());
  Bytes changed = question;
  changed[changed.size() / 2 + 1000] ^= 1;  // in c1
  EXPECT_FALSE(codecs[0]->Answer({4, 0}, changed).ok());
  for (int i = 0; i < kClients; ++i) {
    Must(sum->AddAnswer(i, Must(codecs[size_t(i)]->Answer({4, 0}, question))));
  }
  std::vector<float> read(10);
  Must(sum->Read(read));
  EXPECT_THAT(read, Each(::testing::FloatNear(1.5f, 1e-3f)));
}

class MaskedProtocolTest : public ProtocolTest {};
INSTANTIATE_TEST_SUITE_P(Masked, MaskedProtocolTest, ::testing::Values(Protection::kMasked));

Bytes Survivors(const std::vector<uint8_t>& positions) {
  Bytes note;
  for (const uint8_t position : positions) note.insert(note.end(), {position, 0, 0, 0});
  return note;
}

// Three of four, of which one counts for all, or which are fewer than was promised.
TEST_P(MaskedProtocolTest, AClientUncoversNoSumThatHidesLessThanItWants) {
  const SumFacts facts = {.attempt = 4, .participants = 4};
  const auto after_set_up = [&](const Company& company) {
    std::vector<std::unique_ptr<ClientProtocol>> clients;
    const auto server = Must(MakeServerProtocol(protector_, facts));
    for (int i = 0; i < 4; ++i) {
      clients.push_back(Must(MakeClientProtocol(protector_, facts, i, key_, company)));
      Must(server->TakeReply(0, i, Must(clients.back()->FirstReply())));
    }
    const auto first = Must(server->Note(0));
    for (int i = 0; i < 4; ++i) {
      Must(server->TakeReply(1, i, *Must(clients[size_t(i)]->TakeNote(0, *first.at(i)))));
    }
    Must(clients[0]->TakeNote(1, *Must(server->Note(1)).at(0)));
    return std::move(clients[0]);
  };
  const std::vector<double> factors = {1, 0.1, 0.1, 1};
  const Bytes all = Survivors({0, 1, 2, 3}), three = Survivors({0, 1, 2});
  const Company company = {.factors = factors, .quorum = 3, .least_clients = 1.5};
  EXPECT_TRUE(after_set_up(company)->TakeNote(2, all).ok());
  const absl::Status status = after_set_up(company)->TakeNote(2, three).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("no better than 1.41 equal ones would"));
  const Company promised = {.factors = factors, .quorum = 4, .least_clients = 1};
  EXPECT_THAT(std::string(after_set_up(promised)->TakeNote(2, three).status().message()),
              HasSubstr("a sum of 3 updates, where the aggregator had promised 4"));
  EXPECT_TRUE(after_set_up(promised)->TakeNote(2, all).ok());
}

TEST_P(ProtocolTest, NotesComeInTheirOrderAndHaveTheirForm) {
  const auto server = Must(MakeServerProtocol(protector_, Facts()));
  EXPECT_EQ(server->setup_notes(), 2);
  EXPECT_EQ(server->needs_all(), GetParam() == Protection::kThreshold);
  EXPECT_EQ(server->spare(), 0) << "of three";
  EXPECT_TRUE(server->disputes().empty());
  EXPECT_FALSE(server->Note(0).ok()) << "nobody has replied";
  const auto clients = Clients(key_);
  EXPECT_EQ(clients[0]->setup_notes(), 2);
  EXPECT_EQ(clients[0]->culprit(), std::nullopt);
  for (int i = 0; i < kClients; ++i) {
    Bytes reply = Must(clients[size_t(i)]->FirstReply());
    reply.push_back(0);
    EXPECT_EQ(server->TakeReply(0, i, reply).code(), absl::StatusCode::kDataLoss);
    reply.pop_back();
    EXPECT_FALSE(server->TakeReply(1, i, reply).ok()) << "too early";
    Must(server->TakeReply(0, i, reply));
  }
  EXPECT_FALSE(clients[0]->TakeNote(0, Bytes(3)).ok());
  Bytes four = *Must(server->Note(0)).at(0);
  four[0] = 4;  // entries
  EXPECT_FALSE(clients[0]->TakeNote(0, four).ok());
}

TEST_P(ThresholdProtocolTest, OneClientHasNobodyToHideAmong) {
  const SumFacts alone = {.participants = 1, .chunks = 1};
  EXPECT_EQ(MakeServerProtocol(protector_, alone).status().message(),
            "threshold keys need 2 clients or more, not 1");
  EXPECT_EQ(MakeClientProtocol(protector_, alone, 0, key_).status().message(),
            "threshold keys of 1 client hide nothing; at least 2 are needed");
}

TEST_P(ThresholdProtocolTest, KeysComeFromAllClientsInTwoSteps) {
  const auto server = Must(MakeServerProtocol(protector_, Facts()));
  const auto clients = Clients(key_);
  EXPECT_EQ(clients[0]->MakeCodec().status().message(), "there is no joint key yet");
  for (int i = 0; i < 2; ++i) Must(server->TakeReply(0, i, Must(clients[size_t(i)]->FirstReply())));
  EXPECT_EQ(server->Note(0).status().message(), "threshold keys need all clients");
  Must(server->TakeReply(0, 2, Must(clients[2]->FirstReply())));
  const Bytes note = *Must(server->Note(0)).at(1);
  std::vector<Bytes> commitments = Must(ListFromBytes(note, kClients));
  commitments[2].pop_back();
  EXPECT_EQ(clients[0]->TakeNote(0, ListToBytes(commitments)).status().message(),
            "a commitment of 31 bytes, expected 32");
  const Bytes share = *Must(clients[1]->TakeNote(0, note));
  EXPECT_EQ(server->TakeReply(1, 0, share).code(), absl::StatusCode::kUnauthenticated);
  Must(server->TakeReply(1, 1, share));
  EXPECT_THAT(std::string(server->TakeReply(2, 1, share).message()),
              HasSubstr("reply 2 of client 1 has "));
  const auto fresh = Must(MakeServerProtocol(protector_, Facts()));
  EXPECT_EQ(fresh->TakeReply(1, 1, share).message(), "a share without a commitment");
}

// Protections without notes.
TEST(PlainProtocolTest, ThereIsNothingToAgreeOn) {
  for (const Protection protection : {Protection::kNone, Protection::kSharedKey}) {
    const Protector protector = Must(Protector::Create({.protection = protection}, 10));
    const SumFacts facts = {.attempt = 4, .participants = 3, .chunks = 1};
    const auto server = Must(MakeServerProtocol(protector, facts));
    EXPECT_EQ(server->setup_notes(), 0);
    EXPECT_FALSE(server->needs_all());
    EXPECT_EQ(server->spare(), 0);
    EXPECT_EQ(server->TakeReply(1, 2, Bytes(5)).message(),
              "client 2 replies to note 1, which nobody sent 5 bytes about");
    EXPECT_EQ(server->Note(1).status().message(), "there is no note 1");
    EXPECT_EQ(Must(server->AskSurvivors({0, 1})), nullptr);
    EXPECT_EQ(server->FinishReplies({}), absl::OkStatus());
    EXPECT_TRUE(server->disputes().empty());
    const Secret key = Must(RandomSecret());
    const auto client = Must(MakeClientProtocol(protector, facts, 1, key));
    EXPECT_EQ(client->setup_notes(), 0);
    EXPECT_TRUE(Must(client->FirstReply()).empty());
    EXPECT_EQ(client->TakeNote(0, Bytes(5)).status().message(),
              "note 0 of 5 bytes, which nobody awaits");
    EXPECT_EQ(client->culprit(), std::nullopt);
    const char* const codec = protection == Protection::kNone ? "plain" : "ckks";
    EXPECT_EQ(Must(client->MakeCodec())->description().name, codec);
    EXPECT_EQ(Must(server->MakeCodec())->description().name, codec);
    EXPECT_EQ(Must(client->MakeCodec())->description().fingerprint,
              Must(server->MakeCodec())->description().fingerprint);
  }
  const Protector shared = Must(Protector::Create({.protection = Protection::kSharedKey}, 10));
  EXPECT_EQ(MakeClientProtocol(shared, {.participants = 3}, 1, std::nullopt).status().message(),
            "the key that clients share is missing");
}

TEST_P(MaskedProtocolTest, RepliesAreOfWhoSendsThem) {
  const SumFacts facts = {.attempt = 4, .participants = 4};
  const auto server = Must(MakeServerProtocol(protector_, facts));
  EXPECT_EQ(server->spare(), 1);
  std::vector<std::unique_ptr<ClientProtocol>> clients;
  for (int i = 0; i < 4; ++i)
    clients.push_back(Must(MakeClientProtocol(protector_, facts, i, key_)));
  EXPECT_EQ(server->TakeReply(0, 2, Must(clients[1]->FirstReply())).message(),
            "client 2 speaks for client 1");
  for (int i = 0; i < 2; ++i) Must(server->TakeReply(0, i, Must(clients[size_t(i)]->FirstReply())));
  EXPECT_EQ(server->Note(0).status().message(), "masks need 3 of 4 clients, but only 2 are left");
  for (int i = 2; i < 4; ++i) Must(server->TakeReply(0, i, Must(clients[size_t(i)]->FirstReply())));
  const auto first = Must(server->Note(0));
  EXPECT_EQ(first.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const Bytes reply = *Must(clients[size_t(i)]->TakeNote(0, *first.at(i)));
    EXPECT_FALSE(server->TakeReply(1, (i + 1) % 4, reply).ok()) << "of another client";
    Must(server->TakeReply(1, i, reply));
  }
  const auto second = Must(server->Note(1));
  for (int i = 0; i < 4; ++i) Must(clients[size_t(i)]->TakeNote(1, *second.at(i)));
  const SharedBytes survivors = Must(server->AskSurvivors({0, 2, 3}));
  EXPECT_EQ(*survivors, Survivors({0, 2, 3}));
  EXPECT_EQ(clients[0]->TakeNote(2, Bytes(13)).status().message(),
            "a list of survivors of 13 bytes");
  EXPECT_EQ(clients[0]->TakeNote(2, Bytes(20)).status().message(),
            "a list of survivors of 20 bytes");
  const Bytes reveal = *Must(clients[0]->TakeNote(2, *survivors));
  EXPECT_EQ(server->TakeReply(2, 2, reveal).message(), "client 2 speaks for client 0");
  Must(server->TakeReply(2, 0, reveal));
  EXPECT_FALSE(server->FinishReplies({}).ok()) << "after one of three";
  for (const int i : {2, 3}) {
    Must(server->TakeReply(2, i, *Must(clients[size_t(i)]->TakeNote(2, *survivors))));
  }
  EXPECT_EQ(server->FinishReplies({}), absl::OkStatus());
  EXPECT_TRUE(server->disputes().empty());
}

// Where clients have neighbours, one more note, of votes; the sum is that of those who stay.
TEST(NeighboursProtocolTest, ClientsVoteBeforeTheyReveal) {
  constexpr int kMany = 40;
  const Protector protector =
      Must(Protector::Create({.protection = Protection::kMasked, .mask_neighbours = 1}, 10));
  ASSERT_EQ(protector.mask_neighbours(kMany), 28);
  const SumFacts facts = {.attempt = 4, .participants = kMany, .chunks = 1};
  const Secret key = Must(RandomSecret());
  const auto server = Must(MakeServerProtocol(protector, facts));
  EXPECT_EQ(server->setup_notes(), 2);
  EXPECT_EQ(server->closing_notes(), 2);
  EXPECT_EQ(server->spare(), 13);
  std::vector<std::unique_ptr<ClientProtocol>> clients;
  for (int i = 0; i < kMany; ++i) {
    // The last one wants a larger sum than there will be.
    const Company company = {.quorum = i == kMany - 1 ? 37 : 1};
    clients.push_back(Must(MakeClientProtocol(protector, facts, i, key, company)));
    Must(server->TakeReply(0, i, Must(clients.back()->FirstReply())));
  }
  const auto first = Must(server->Note(0));
  for (int i = 0; i < kMany; ++i) {
    const Bytes shares = *Must(clients[size_t(i)]->TakeNote(0, *first.at(i)));
    EXPECT_EQ(Must(ListFromBytes(shares, kMany)).size(), 28u) << "for neighbours";
    Must(server->TakeReply(1, i, shares));
  }
  const auto second = Must(server->Note(1));
  const auto sums = Must(server->MakeCodec());
  const auto sum = Must(sums->NewSum({4, 0}, 10));
  std::set<int> survivors;
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(Must(clients[size_t(i)]->TakeNote(1, *second.at(i))), std::nullopt);
    if (i % 10 == 7) continue;
    survivors.insert(i);
    const std::vector<float> numbers(10, 0.5f);
    Must(sum->Add(i, Must(Must(clients[size_t(i)]->MakeCodec())->Encode({4, 0}, numbers))));
  }
  const SharedBytes note = Must(server->AskSurvivors(survivors));
  std::vector<Bytes> votes;
  for (const int i : survivors) {
    if (i == kMany - 1) {
      EXPECT_EQ(clients[size_t(i)]->TakeNote(2, *note).status().message(),
                "a sum of 36 updates, where the aggregator had promised 37 or more");
      continue;
    }
    const Bytes vote = *Must(clients[size_t(i)]->TakeNote(2, *note));
    EXPECT_EQ(vote.size(), 36u);
    EXPECT_FALSE(server->TakeReply(2, (i + 1) % kMany, vote).ok()) << "of another client";
    EXPECT_EQ(clients[size_t(i)]->TakeNote(2, *note).status().code(),
              absl::StatusCode::kFailedPrecondition)
        << "a second list";
    if (i == 7 + 1) {
      EXPECT_EQ(server->Note(3).status().message(),
                "masks need 27 of 40 clients, but only 6 are left");
    }
    if (i != 5) Must(server->TakeReply(2, i, vote));  // which is too late
  }
  const auto all = Must(server->Note(3));
  EXPECT_EQ(all.size(), 34u);
  EXPECT_FALSE(all.contains(5));
  EXPECT_FALSE(clients[0]->TakeNote(3, Bytes(3)).ok());
  EXPECT_EQ(clients[0]->TakeNote(3, ListToBytes({})).status().message(),
            "masked sum: only 0 clients have the same list of survivors as client 0, needs 27");
  for (const auto& [position, body] : all) {
    Must(server->TakeReply(3, position, *Must(clients[size_t(position)]->TakeNote(3, *body))));
  }
  EXPECT_EQ(server->FinishReplies({}), absl::OkStatus());
  std::vector<float> read(10);
  Must(sum->Read(read));
  EXPECT_THAT(read, Each(::testing::FloatNear(18, 36 * 0x1p-19f)));
}

}  // namespace
}  // namespace dtnn::federation
