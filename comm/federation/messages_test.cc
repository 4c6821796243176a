#include "comm/federation/messages.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::vector<std::string>& names) {
  const Classes classes = {.outputs = 2, .names = names};
  const absl::Status read = ClassesFromBytes(ToBytes(classes)).status();
  EXPECT_EQ(CheckClasses(classes).ok(), read.ok());
  return std::string(read.message());
}

TEST(MessagesTest, NamesOfClassesArriveAsTheyAre) {
  const Classes sent = {.outputs = 2, .names = {"gr\xc3\xbcn", std::string(255, 'x')}};
  const absl::StatusOr<Classes> read = ClassesFromBytes(ToBytes(sent));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->names, sent.names);
}

// They are printed to terminals.
TEST(MessagesTest, NamesOfClassesAreText) {
  for (const char* name : {"", "\x1b[2J", "\x7f",
                           "\xc2\x9b"
                           "2J",
                           "\x9b"
                           "2J",
                           "gr\xfcn"}) {
    EXPECT_THAT(Refusal({"a", name}), HasSubstr("expected UTF-8 text of 1 to 255 bytes")) << name;
  }
}

// No client could match its classes.
TEST(MessagesTest, NamesOfClassesAreDistinct) {
  EXPECT_EQ(Refusal({"a", "a"}), "classes: the class name \"a\" appears twice");
}

TEST(MessagesTest, NamesOfClassesFillOneMessageAtMost) {
  Classes classes = {.outputs = 65536};
  for (int i = 0; i < 65536; ++i) {
    const std::string number = std::to_string(i);
    classes.names.push_back(number + std::string(62 - number.size(), 'n'));
  }
  classes.names.back().resize(54);
  EXPECT_EQ(ToBytes(classes).size(), 4194304u);
  EXPECT_EQ(CheckClasses(classes), absl::OkStatus());
  classes.names.back() += 'n';
  EXPECT_EQ(CheckClasses(classes).message(),
            "the names of 65536 classes have 4194305 bytes; a federation takes 4194304 at most");
}

TEST(MessagesTest, AnAggregatorHasNoMoreClassesThanFit) {
  EXPECT_EQ(ClassesFromBytes(ToBytes(Classes{.outputs = 65536})).status(), absl::OkStatus());
  EXPECT_EQ(ClassesFromBytes(ToBytes(Classes{.outputs = 65537})).status().message(),
            "classes: a network with 65537 outputs; a federation takes 65536 at most");
}

// A list of a few bytes claims more names than could be in it.
TEST(MessagesTest, NamesThatAreOnlyClaimedAreNotMade) {
  const auto claim = [](uint32_t names, size_t bytes) {
    WireWriter writer;
    writer.Number(uint32_t{2});
    writer.Number(names);
    writer.Bytes(Bytes(bytes));
    return std::string(ClassesFromBytes(writer.bytes()).status().message());
  };
  EXPECT_EQ(claim(65537, 2 * 65537),
            "classes: 65537 names in 131082 bytes, at most 65536 are allowed");
  EXPECT_EQ(claim(6, 2), "classes: 6 names in 10 bytes, at most 65536 are allowed");
  EXPECT_EQ(claim(5, 2), "classes: ends too early");
  EXPECT_THAT(claim(65536, 2 * 65536), HasSubstr("65536 names of classes for 2 outputs"));
}

TEST(MessagesTest, AClientsSamplesAndNameHaveLimits) {
  const auto error = [](int64_t samples, size_t name) {
    Hello hello;
    hello.name = std::string(name, 'n');
    hello.samples = samples;
    return std::string(HelloFromBytes(ToBytes(hello)).status().message());
  };
  EXPECT_EQ(error(1, 1), "");
  EXPECT_EQ(error(int64_t{1} << 40, 64), "");
  EXPECT_EQ(error(0, 1), "hello: 0 samples; expected 1 to 1099511627776");
  EXPECT_EQ(error((int64_t{1} << 40) + 1, 1),
            "hello: 1099511627777 samples; expected 1 to 1099511627776");
  EXPECT_THAT(error(-1, 1), HasSubstr("expected 1 to 1099511627776"));
  EXPECT_EQ(error(1, 0), "a client's name is 1 to 64 letters, digits and \"._-\", not \"\"");
  EXPECT_EQ(CheckClientName(std::string(64, 'n')), absl::OkStatus());
  EXPECT_FALSE(CheckClientName(std::string(65, 'n')).ok());
}

RoundStart ARound() { return {.round = 1, .rounds = 2, .samples = {1, 2}, .quorum = 1}; }

TEST(MessagesTest, NumbersOfARoundReachTheirLimits) {
  const std::function<void(RoundStart&)> kGood[] = {
      [](RoundStart&) {},
      [](RoundStart& r) { r.samples.assign(64, 1); },
      [](RoundStart& r) {
        r.samples = {1, int64_t{1} << 40};
      },
      [](RoundStart& r) { r.round = r.rounds = int64_t{1} << 40; },
      [](RoundStart& r) { r.position = 1; },
      [](RoundStart& r) { r.quorum = 2; },
      [](RoundStart& r) { r.proximal = 1e38; },
      [](RoundStart& r) { r.deadline = 1e12; },
      [](RoundStart& r) { r.difference = true; },
      [](RoundStart& r) { r.control = true; },
      [](RoundStart& r) {
        r.clients = {1, int64_t{1} << 24};
      },
      [](RoundStart& r) { r.parameters.clients = 65536; },
      [](RoundStart& r) { r.parameters.divisor = 1e-9; },
      [](RoundStart& r) { r.parameters.divisor = 1e9; },
      [](RoundStart& r) { r.clip = 1e15; },
      [](RoundStart& r) {
        r.difference = true;
        r.compression.kind = CompressionKind::kInt8;
      },
      [](RoundStart& r) {
        r.difference = true;
        r.compression = {.kind = CompressionKind::kTopK, .fraction = 0.5};
      },
      [](RoundStart& r) { r = {.over = true}; },
  };
  for (const auto& change : kGood) {
    RoundStart round = ARound();
    change(round);
    const Bytes bytes = ToBytes(round);
    const absl::StatusOr<RoundStart> read = RoundStartFromBytes(bytes);
    ASSERT_TRUE(read.ok()) << &change - kGood << ": " << read.status();
    EXPECT_EQ(ToBytes(*read), bytes) << &change - kGood;
  }
}

TEST(MessagesTest, NumbersThatNoAggregatorSendsEndARound) {
  const std::function<void(RoundStart&)> kBad[] = {
      [](RoundStart& r) { r.rounds = (int64_t{1} << 40) + 1; },
      [](RoundStart& r) { r.round = 3; },
      [](RoundStart& r) { r.round = -1; },
      [](RoundStart& r) { r.position = 2; },
      [](RoundStart& r) { r.quorum = 0; },
      [](RoundStart& r) { r.quorum = 3; },
      [](RoundStart& r) {
        r.weighting = RankWeighting(uint8_t(RankWeighting::kInverseSamples) + 1);
      },
      [](RoundStart& r) { r.proximal = -1e-9; },
      [](RoundStart& r) { r.proximal = 1.001e38; },
      [](RoundStart& r) { r.deadline = 1.001e12; },
      [](RoundStart& r) { r.deadline = NAN; },
      [](RoundStart& r) { r.difference = r.control = true; },
      [](RoundStart& r) { r.parameters.clients = 65537; },
      [](RoundStart& r) { r.parameters.divisor = 0.999e-9; },
      [](RoundStart& r) { r.parameters.divisor = 1.001e9; },
      [](RoundStart& r) { r.parameters.divisor = NAN; },
      [](RoundStart& r) { r.clip = -1e-9; },
      [](RoundStart& r) { r.clip = 1.001e15; },
      [](RoundStart& r) { r.clip = NAN; },
      [](RoundStart& r) { r.compression.kind = CompressionKind::kInt8; },  // of parameters
      [](RoundStart& r) { r.compression.fraction = 0.5; },
      [](RoundStart& r) {
        r.difference = true;
        r.compression.kind = CompressionKind(uint8_t(CompressionKind::kTopK) + 1);
      },
      [](RoundStart& r) {
        r.difference = true;
        r.compression = {.kind = CompressionKind::kTopK, .fraction = 0};
      },
      [](RoundStart& r) {
        r.difference = true;
        r.compression = {.kind = CompressionKind::kTopK, .fraction = 0.501};
      },
      [](RoundStart& r) {
        r.difference = true;
        r.compression = {.kind = CompressionKind::kTopK, .fraction = NAN};
      },
  };
  for (const auto& change : kBad) {
    RoundStart round = ARound();
    change(round);
    EXPECT_EQ(RoundStartFromBytes(ToBytes(round)).status().message(),
              "round: numbers that no aggregator sends")
        << &change - kBad;
  }
  for (const size_t from_end : {18, 19}) {  // two switches, before the clip
    Bytes neither = ToBytes(ARound());
    neither[neither.size() - from_end] = 2;
    EXPECT_EQ(RoundStartFromBytes(neither).status().message(),
              "round: numbers that no aggregator sends");
  }
  const std::vector<int64_t> bad_samples[] = {{1, 0}, {(int64_t{1} << 40) + 1, 1}};
  for (const std::vector<int64_t>& samples : bad_samples) {
    RoundStart round = ARound();
    round.samples = samples;
    EXPECT_EQ(RoundStartFromBytes(ToBytes(round)).status().message(),
              "round: samples, steps or clients that no aggregator sends");
  }
  for (const std::vector<int64_t>& clients :
       std::vector<std::vector<int64_t>>{{1, 0}, {(int64_t{1} << 24) + 1, 1}, {1}, {1, 1, 1}}) {
    RoundStart round = ARound();
    round.clients = clients;
    EXPECT_EQ(RoundStartFromBytes(ToBytes(round)).status().message(),
              "round: samples, steps or clients that no aggregator sends");
  }
  RoundStart crowd = ARound();
  crowd.samples.assign(kMostParticipants + 1, 1);
  EXPECT_EQ(RoundStartFromBytes(ToBytes(crowd)).status().message(),
            "round: 4097 clients, at most 4096 are allowed");
}

TEST(MessagesTest, SizesOfGroupsHaveLimits) {
  const auto error = [](int64_t clients, int64_t samples) {
    return std::string(GroupSizeFromBytes(ToBytes(GroupSize{clients, samples})).status().message());
  };
  EXPECT_EQ(error(1 << 24, int64_t{1} << 40), "");
  for (const auto& [clients, samples] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {(1 << 24) + 1, 1}, {-1, 1}, {1, 0}, {1, (int64_t{1} << 40) + 1}}) {
    EXPECT_THAT(error(clients, samples),
                HasSubstr("expected 1 to 16777216 and 1 to 1099511627776"));
  }
  Hello hello;
  hello.name = "a";
  hello.samples = 1;
  hello.clients = 1 << 24;
  EXPECT_EQ(Must(HelloFromBytes(ToBytes(hello))).clients, 1 << 24);
  ++hello.clients;
  EXPECT_EQ(HelloFromBytes(ToBytes(hello)).status().message(),
            "hello: an aggregator of 16777217 clients; expected 16777216 at most");
  EXPECT_EQ(
      ReportFromBytes(ToBytes(Report{.samples = 1, .clients = (1 << 24) + 1})).status().message(),
      "report: of 16777217 clients; expected 16777216 at most");
}

std::string ErrorOf(const Report& report) {
  return std::string(ReportFromBytes(ToBytes(report)).status().message());
}

TEST(MessagesTest, NumbersOfAReportHaveLimits) {
  EXPECT_EQ(ErrorOf({.samples = int64_t{1} << 40, .seconds = 1e12}), "");
  EXPECT_EQ(ErrorOf({.samples = (int64_t{1} << 40) + 1}),
            "report: 1099511627777 samples; expected 1 to 1099511627776");
  EXPECT_EQ(ErrorOf({.samples = 0}), "report: 0 samples; expected 1 to 1099511627776");
  EXPECT_THAT(ErrorOf({.samples = 1, .seconds = 1.001e12}), HasSubstr("report: took "));
  EXPECT_THAT(ErrorOf({.samples = 1, .seconds = -1}), HasSubstr("report: took "));
  EXPECT_THAT(ErrorOf({.samples = 1, .seconds = NAN}), HasSubstr("report: took "));
}

TEST(MessagesTest, MetricsOfAReportHaveNamesAndFiniteValues) {
  Report report = {.samples = 1};
  for (int i = 0; i < 32; ++i) report.metrics.emplace_back("m" + std::to_string(i), i);
  Bytes bytes = ToBytes(report);
  EXPECT_EQ(ReportFromBytes(bytes)->metrics, report.metrics);
  bytes[16] = 33;  // what follows the samples and seconds
  EXPECT_EQ(ReportFromBytes(bytes).status().message(),
            "report: 33 metrics, at most 32 are allowed");
  EXPECT_EQ(ErrorOf({.samples = 1, .metrics = {{"", 1}}}), "report: a metric called \"\"");
  EXPECT_EQ(ErrorOf({.samples = 1, .metrics = {{"a", 1}, {"b", 1}, {"a", 2}}}),
            "report: a comes twice");
  for (const double value : {double(NAN), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(ErrorOf({.samples = 1, .metrics = {{"a", value}}}), HasSubstr("report: a is "));
  }
}

TEST(MessagesTest, TextsForPeopleAreOneShortLine) {
  const Verdict verdict = *VerdictFromBytes(ToBytes({.text = "a\nb" + std::string(600, 'x')}));
  EXPECT_EQ(verdict.text, "a?b" + std::string(509, 'x'));
  EXPECT_EQ(TextToBytes(std::string(513, 'x')).size(), 512u);
  EXPECT_EQ(TextFromBytes(Bytes(513, '\t')), std::string(512, '?'));
}

TEST(MessagesTest, ListsHaveAsManyEntriesAsTheReaderTakes) {
  const std::vector<Bytes> list = {{1}, {}, {2, 3}};
  EXPECT_EQ(*ListFromBytes(ListToBytes(list), 3), list);
  EXPECT_EQ(ListFromBytes(ListToBytes(list), 2).status().message(),
            "list: 3 entries, at most 2 are allowed");
}

TEST(MessagesTest, StepsAreOfAllClientsOfARoundOrOfNone) {
  RoundStart start = {
      .round = 1, .rounds = 2, .samples = {5, 7}, .steps = {3, kMostSteps}, .quorum = 1};
  EXPECT_EQ(Must(RoundStartFromBytes(ToBytes(start))).steps, start.steps);
  const std::vector<int64_t> bad[] = {{3}, {3, 4, 5}, {3, 0}, {kMostSteps + 1, 1}, {-1, 1}};
  for (const std::vector<int64_t>& steps : bad) {
    start.steps = steps;
    EXPECT_EQ(RoundStartFromBytes(ToBytes(start)).status(),
              absl::DataLossError("round: samples, steps or clients that no aggregator sends"));
  }
  start.steps = {};
  EXPECT_TRUE(Must(RoundStartFromBytes(ToBytes(start))).steps.empty());
  Hello hello;
  hello.name = "a";
  hello.samples = 9;
  hello.steps = 12;
  EXPECT_EQ(Must(HelloFromBytes(ToBytes(hello))).steps, 12);
  for (const int64_t steps : {int64_t{0}, kMostSteps + 1, int64_t{-1}}) {
    hello.steps = steps;
    EXPECT_FALSE(HelloFromBytes(ToBytes(hello)).ok()) << steps;
  }
}

TEST(MessagesTest, LabelsAndAggregatorsOfAHelloHaveLimits) {
  Hello hello;
  hello.name = "a";
  hello.samples = 1;
  const auto why = [&] { return std::string(HelloFromBytes(ToBytes(hello)).status().message()); };
  hello.clients = 1;
  hello.aggregators.assign(kMostAggregators, {1});
  for (int i = 0; i < 16; ++i) hello.labels.emplace_back("k" + std::to_string(i), "v");
  EXPECT_EQ(Must(HelloFromBytes(ToBytes(hello))).aggregators.size(), 256u);
  hello.labels.emplace_back("more", "v");
  EXPECT_EQ(why(), "hello: 17 labels, at most 16 are allowed");
  hello.labels = {{"site", "the north"}};
  EXPECT_EQ(
      why(),
      "hello: a label with \"the north\": expected KEY=VALUE, each of 1 to 64 letters, digits "
      "and \"._-\"");
  hello.labels = {{"samples", "5"}};
  EXPECT_EQ(why(),
            "hello: a label called samples: that is known of every client; take another word");
  hello.labels.clear();
  hello.aggregators.push_back({2});
  EXPECT_EQ(why(), "hello: 257 aggregators, at most 256 are allowed");
  hello.clients = 0;
  hello.aggregators.resize(1);
  EXPECT_EQ(why(), "hello: names 1 aggregators behind it, but has not come as one");
  hello.aggregators.assign(257, {1});
  GroupSize size = {.clients = 1, .samples = 1, .aggregators = hello.aggregators};
  EXPECT_EQ(GroupSizeFromBytes(ToBytes(size)).status().message(),
            "size: 257 aggregators, at most 256 are allowed");
  size.aggregators.pop_back();
  EXPECT_EQ(Must(GroupSizeFromBytes(ToBytes(size))), size);
}

TEST(MessagesTest, EveryFieldArrives) {
  const Hello hello = {
      .name = "a-B.9_z",
      .model = {.network = {1, 2}, .values = 300, .trainable = 200, .sample = {7, 8, 9}},
      .samples = 40,
      .protection = "masks",
      .key = {5, 6},
      .class_names = {3, 4},
      .steps = 12,
      .clients = 3,
      .aggregators = {{1}, {2}},
      .labels = {{"battery", "80"}, {"site", "north"}}};
  const Hello read = Must(HelloFromBytes(ToBytes(hello)));
  EXPECT_EQ(read.name, hello.name);
  EXPECT_EQ(read.model, hello.model);
  EXPECT_EQ(read.samples, 40);
  EXPECT_EQ(read.protection, "masks");
  EXPECT_EQ(read.key, hello.key);
  EXPECT_EQ(read.class_names, hello.class_names);
  EXPECT_EQ(read.steps, 12);
  EXPECT_EQ(read.aggregators, hello.aggregators);
  EXPECT_EQ(read.labels, hello.labels);
  const Welcome welcome = Must(WelcomeFromBytes(ToBytes(Welcome{{9, 8, 7}, 1234})));
  EXPECT_EQ(welcome.nonce, (RunNonce{9, 8, 7}));
  EXPECT_EQ(welcome.alive_ms, 1234u);
  const RoundStart start = Must(RoundStartFromBytes(ToBytes(RoundStart{
      .over = true,
      .round = 3,
      .rounds = 4,
      .position = 1,
      .samples = {5, 6},
      .weighting = RankWeighting::kSamples,
      .quorum = 2,
      .proximal = 0.25,
      .deadline = 60,
      .difference = true,
      .clip = 0.75,
      .parameters = {
          .encrypted = true, .attempt = 7, .nonce = {8}, .clients = 9, .divisor = 10}})));
  EXPECT_TRUE(start.over);
  EXPECT_EQ(start.round, 3);
  EXPECT_EQ(start.rounds, 4);
  EXPECT_EQ(start.position, 1u);
  EXPECT_EQ(start.samples, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(start.weighting, RankWeighting::kSamples);
  EXPECT_EQ(start.quorum, 2u);
  EXPECT_EQ(start.proximal, 0.25);
  EXPECT_EQ(start.deadline, 60);
  EXPECT_TRUE(start.difference);
  EXPECT_EQ(start.clip, 0.75);
  EXPECT_TRUE(start.parameters.encrypted);
  EXPECT_EQ(start.parameters.attempt, 7u);
  EXPECT_EQ(start.parameters.nonce, RunNonce{8});
  EXPECT_EQ(start.parameters.clients, 9u);
  EXPECT_EQ(start.parameters.divisor, 10);
  EXPECT_FALSE(Must(RoundStartFromBytes(ToBytes(ARound()))).parameters.encrypted);
  const Report report = Must(ReportFromBytes(ToBytes(Report{11, 1.5, {{"loss", 0.5}}})));
  EXPECT_EQ(report.samples, 11);
  EXPECT_EQ(report.seconds, 1.5);
  EXPECT_EQ(report.metrics, (Metrics{{"loss", 0.5}}));
  const GroupSize size = {.clients = 3, .samples = 4};
  EXPECT_EQ(Must(GroupSizeFromBytes(ToBytes(size))), size);
  EXPECT_EQ(Must(ReportFromBytes(ToBytes(Report{.samples = 1, .clients = 5}))).clients, 5);
  for (const bool accepted : {false, true}) {
    const Verdict verdict = Must(VerdictFromBytes(ToBytes(Verdict{accepted, "why"})));
    EXPECT_EQ(verdict.accepted, accepted);
    EXPECT_EQ(verdict.text, "why");
  }
  const Classes classes = Must(ClassesFromBytes(ToBytes(Classes{2, {"a", "b"}})));
  EXPECT_EQ(classes.outputs, 2u);
}

// At every length, and with a byte more.
TEST(MessagesTest, MessagesOfAnotherLengthAreRefused) {
  const auto check = [](Bytes bytes,
                        const std::function<absl::Status(std::span<const uint8_t>)>& read) {
    EXPECT_EQ(read(bytes), absl::OkStatus());
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(read(std::span(bytes).first(size)).ok()) << size;
    }
    bytes.push_back(0);
    EXPECT_FALSE(read(bytes).ok());
  };
  Hello hello;
  hello.name = "a";
  hello.samples = 1;
  check(ToBytes(hello), [](auto bytes) { return HelloFromBytes(bytes).status(); });
  check(ToBytes(GroupSize{1, 1}), [](auto bytes) { return GroupSizeFromBytes(bytes).status(); });
  check(ToBytes(Welcome{}), [](auto bytes) { return WelcomeFromBytes(bytes).status(); });
  check(ToBytes(ARound()), [](auto bytes) { return RoundStartFromBytes(bytes).status(); });
  check(ToBytes(Report{1, 1, {{"a", 1}}}),
        [](auto bytes) { return ReportFromBytes(bytes).status(); });
  check(ToBytes(Verdict{true, "b"}), [](auto bytes) { return VerdictFromBytes(bytes).status(); });
  check(ToBytes(Classes{1, {"c"}}), [](auto bytes) { return ClassesFromBytes(bytes).status(); });
  check(ListToBytes(std::vector<Bytes>{{1}, {2, 3}}),
        [](auto bytes) { return ListFromBytes(bytes, 2).status(); });
}

TEST(MessagesTest, NamesOfClientsAndMetricsHaveNoOtherCharacters) {
  EXPECT_EQ(CheckClientName("azAZ09._-"), absl::OkStatus());
  for (const char* name : {"a b", "a/b", "a:b", "a`", "{", "@", "[", "a\n", "\xc3\xa9", "a\\"}) {
    EXPECT_FALSE(CheckClientName(name).ok()) << name;
    EXPECT_THAT(ErrorOf({.samples = 1, .metrics = {{name, 1}}}), HasSubstr("a metric called"));
  }
}

// What clients compare before their updates are added.
TEST(MessagesTest, TheHashOfARoundIsOfAllThatItsClientsGetAlike) {
  const std::vector<Bytes> chunks = {{1, 2}, {3}};
  const auto hash = [](const RoundStart& start, const RunNonce& nonce, uint64_t attempt,
                       const std::vector<Bytes>& parameters) {
    return Must(HashOfRound(start, nonce, attempt, parameters));
  };
  const Hash whole = hash(ARound(), {1}, 2, chunks);
  RoundStart elsewhere = ARound();
  elsewhere.position = 1;
  EXPECT_EQ(hash(elsewhere, {1}, 2, chunks), whole) << "each client has a position of its own";
  const std::function<void(RoundStart&)> kChanges[] = {
      [](RoundStart& r) { r.over = true; },
      [](RoundStart& r) { r.round = 2; },
      [](RoundStart& r) { r.rounds = 3; },
      [](RoundStart& r) { r.samples[1] = 3; },
      [](RoundStart& r) { r.weighting = RankWeighting::kSamples; },
      [](RoundStart& r) {
        r.steps = {1, 1};
      },
      [](RoundStart& r) {
        r.clients = {1, 2};
      },
      [](RoundStart& r) { r.quorum = 2; },
      [](RoundStart& r) { r.proximal = 1; },
      [](RoundStart& r) { r.deadline = 1; },
      [](RoundStart& r) { r.difference = true; },
      [](RoundStart& r) { r.control = true; },
      [](RoundStart& r) { r.clip = 1; },
      [](RoundStart& r) { r.parameters.encrypted = true; },
      [](RoundStart& r) { r.parameters.attempt = 1; },
      [](RoundStart& r) { r.parameters.nonce = {1}; },
      [](RoundStart& r) { r.parameters.clients = 1; },
      [](RoundStart& r) { r.parameters.divisor = 2; },
  };
  for (const auto& change : kChanges) {
    RoundStart other = ARound();
    change(other);
    EXPECT_NE(hash(other, {1}, 2, chunks), whole) << &change - kChanges;
  }
  EXPECT_NE(hash(ARound(), {2}, 2, chunks), whole);
  EXPECT_NE(hash(ARound(), {1}, 3, chunks), whole);
  for (const std::vector<Bytes>& other : std::vector<std::vector<Bytes>>{{{1, 2}},
                                                                         {{1, 2}, {4}},
                                                                         {{1, 3}, {3}},
                                                                         {{3}, {1, 2}},
                                                                         {{1, 2}, {3}, {}},
                                                                         {{1}, {2, 3}}}) {
    EXPECT_NE(hash(ARound(), {1}, 2, other), whole);
  }
}

TEST(MessagesTest, ListsOfNamesHaveHashesOfTheirOwn) {
  const auto hash = [](const std::vector<std::string>& names) { return Must(HashOfNames(names)); };
  EXPECT_EQ(hash({}), Hash{});
  EXPECT_EQ(hash({"a", "bc"}), hash({"a", "bc"}));
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"ab", "c"}, {"bc", "a"}, {"a", "bd"}, {"a"}, {"abc"}}) {
    EXPECT_NE(hash(other), hash({"a", "bc"}));
  }
}

TEST(MessagesTest, ClassesWithoutNamesAreOnlyCounted) {
  EXPECT_EQ(Refusal({"a"}), "classes: 1 names of classes for 2 outputs");
  EXPECT_EQ(Refusal({}), "");
  EXPECT_THAT(std::string(CheckClasses({2, {"a", std::string(256, 'x')}}).message()),
              HasSubstr("expected UTF-8 text of 1 to 255 bytes"));
}

}  // namespace
}  // namespace dtnn::federation
