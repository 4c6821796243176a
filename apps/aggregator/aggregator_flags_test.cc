// Each flag sets what it is called after.

#include "apps/aggregator/aggregator_flags.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apps/testing/flag_members.h"
#include "comm/federation/aggregator/strategy.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(AggregatorFlagsTest, NoTwoFlagsSetTheSame) {
  AggregatorFlags flags;
  testing::ExpectNoTwoFlagsSetTheSame(OptionsOf(flags));
}

TEST(AggregatorFlagsTest, FlagsOfTheLauncherSetItsMembers) {
  auto flags = std::make_unique<AggregatorFlags>();
  EXPECT_GT(testing::ExpectFlagsOfTheLauncherSetItsMembers([&] {
              flags = std::make_unique<AggregatorFlags>();
              return testing::BoundFlags{OptionsOf(*flags), &flags->run};
            }),
            35);
}

TEST(AggregatorFlagsTest, ByGrpcOrMqttARoundTakesFewerClients) {
  AggregatorFlags flags;
  flags.run.encryption.kind = "masked";
  flags.min_clients = 64;
  EXPECT_EQ(CheckRelayedRounds(flags), absl::OkStatus());
  flags.min_clients = 65;
  EXPECT_EQ(CheckRelayedRounds(flags).message(),
            "--min-clients=65: rounds by gRPC or MQTT take 64 clients at most; give no more, or "
            "--transport=tcp");
}

// Those that only programs with rounds have.
TEST(AggregatorFlagsTest, FlagsOfRoundsSetTheirMembers) {
  AggregatorFlags flags;
  const std::pair<std::string_view, const void*> of[] = {
      {"address", &flags.address},
      {"allowed-clients", &flags.allowed_clients},
      {"identity-key-file", &flags.identity_key_file},
      {"parent", &flags.parent},
      {"parent-secret-file", &flags.parent_secret_file},
      {"input-shape", &flags.input_shape},
      {"num-classes", &flags.num_classes},
      {"class-names", &flags.class_names},
      {"min-clients", &flags.min_clients},
      {"client-fraction", &flags.client_fraction},
      {"deadline", &flags.deadline},
      {"max-connections", &flags.max_connections},
      {"receive-memory", &flags.receive_memory},
      {"rounds", &flags.rounds.rounds},
      {"strategy", &flags.rounds.strategy},
      {"proximal-mu", &flags.rounds.proximal_mu},
      {"server-learning-rate", &flags.rounds.server_learning_rate},
      {"server-momentum", &flags.rounds.server_momentum},
      {"buffer-size", &flags.rounds.buffer_size},
      {"staleness-weight", &flags.rounds.staleness_weight},
      {"max-staleness", &flags.rounds.max_staleness},
      {"max-update-norm", &flags.rounds.max_update_norm},
      {"robust", &flags.rounds.robust},
      {"update-compression", &flags.rounds.compression},
      {"clients-file", &flags.rounds.clients_file},
      {"test-every", &flags.rounds.test_every}};
  size_t found = 0;
  for (const OptionSpec& spec : OptionsOf(flags)) {
    for (const auto& [name, member] : of) {
      if (name != spec.name) continue;
      ++found;
      EXPECT_EQ(spec.field.variable, member) << "--" << name;
    }
  }
  EXPECT_EQ(found, std::size(of));
}

RoundFlags Strategy(const std::string& strategy) {
  RoundFlags flags;
  flags.strategy = strategy;
  flags.proximal_mu = 0.25;
  flags.server_learning_rate = 0.5;
  flags.server_momentum = 0.75;
  flags.max_update_norm = 3;
  return flags;
}

TEST(RoundFlagsTest, NumbersOfTheStrategyAreNotMistakenForEachOther) {
  const federation::StrategyOptions options = StrategyOf(Strategy("fedyogi"));
  EXPECT_EQ(options.strategy, federation::Strategy::kFedyogi);
  EXPECT_EQ(options.proximal, 0.25);
  EXPECT_EQ(options.rate(), 0.5);
  EXPECT_EQ(options.momentum, 0.75);
}

// What is said of a federation that resumes: only what has an effect on its strategy.
TEST(RoundFlagsTest, MembersAreThoseOfTheStrategy) {
  const auto members = [](const std::string& strategy) {
    std::string text;
    for (const auto& member : MembersOf(Strategy(strategy))) {
      text += member.what + "=" + member.value + " ";
    }
    return text;
  };
  const std::string all =
      "--select=none --robust=none --max-update-norm=3 --buffer-size=0 "
      "--update-compression=none ";
  EXPECT_EQ(members("wavg"), all);
  EXPECT_EQ(members("fedprox"), all + "--proximal-mu=0.25 ");
  EXPECT_EQ(members("fednova"), all);
  EXPECT_EQ(members("scaffold"), all + "--server-learning-rate=0.5 ");
  for (const char* strategy : {"fedavgm", "fedadam", "fedyogi", "fedadagrad"}) {
    EXPECT_EQ(members(strategy), all + "--server-learning-rate=0.5 --server-momentum=0.75 ");
  }
}

TEST(RoundFlagsTest, MembersOfABufferAreThoseOfItsWeights) {
  RoundFlags flags = Strategy("wavg");
  flags.buffer_size = 7;
  flags.staleness_weight = "constant";
  flags.max_staleness = 5;
  std::string text;
  for (const auto& member : MembersOf(flags)) text += member.what + "=" + member.value + " ";
  EXPECT_EQ(text,
            "--select=none --robust=none --max-update-norm=3 --buffer-size=7 "
            "--update-compression=none --staleness-weight=constant --max-staleness=5 ");
  const federation::BufferOptions options = BufferOf(flags);
  EXPECT_EQ(options.size, 7);
  EXPECT_EQ(options.weight, federation::StalenessWeight::kConstant);
  EXPECT_EQ(options.max_staleness, 5);
}

TEST(RoundFlagsTest, TestsAreAfterTheFirstTheLastAndEverySoManyRounds) {
  const auto tested = [](int64_t rounds, int64_t every) {
    RoundFlags flags;
    flags.rounds = rounds;
    flags.test_every = every;
    std::string text;
    for (int64_t round = 1; round <= rounds; ++round) text += flags.TestsAfter(round) ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(tested(8, 3), "x.x..x.x");
  EXPECT_EQ(tested(4, 1), "xxxx");
  EXPECT_EQ(tested(4, 0), "....");
}

// The last good and the first bad of the limits between flags.
TEST(AggregatorFlagsTest, FewestClientsAndConnectionsMayBeEqual) {
  AggregatorFlags flags;
  flags.run.network.name = "simplecnn8";
  flags.min_clients = flags.max_connections = 64;
  flags.rounds.robust = "median";
  EXPECT_EQ(CheckAggregatorFlags(flags), absl::OkStatus());
  flags.max_connections = 63;
  EXPECT_EQ(std::string(CheckAggregatorFlags(flags).message()),
            "--max-connections=63: a round needs 64 clients (--min-clients)");
  flags.max_connections = flags.min_clients = 65;
  EXPECT_EQ(std::string(CheckAggregatorFlags(flags).message()),
            "--min-clients=65: --robust=median averages 64 updates at most");
  flags.rounds.robust = "";
  flags.run.encryption.kind = "masked";
  flags.max_connections = flags.min_clients = 255;
  EXPECT_EQ(CheckAggregatorFlags(flags), absl::OkStatus());
}

// What an update that comes alone cannot have.
TEST(AggregatorFlagsTest, BuffersSayWhyTheyAreRefused) {
  const auto why = [](const std::function<void(AggregatorFlags&)>& change) {
    AggregatorFlags flags;
    flags.run.network.name = "simplecnn8";
    flags.min_clients = flags.rounds.buffer_size = 3;
    change(flags);
    return std::string(CheckAggregatorFlags(flags).message());
  };
  EXPECT_EQ(why([](AggregatorFlags&) {}), "");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.min_clients = 2; }),
            "--buffer-size=3: needs as many clients, since each gives one update of the same "
            "parameters; --min-clients=3 waits for them");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.rounds.buffer_size = 0;
              f.rounds.max_staleness = 3;
            }),
            "--max-staleness=3: needs --buffer-size; where rounds wait, no update is stale");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.rounds.buffer_size = 0;
              f.rounds.staleness_weight = "constant";
            }),
            "--staleness-weight=constant: needs --buffer-size; where rounds wait, no update is "
            "stale");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.rounds.strategy = "invwavg"; }),
            "--buffer-size=3: not with --strategy=invwavg: it weighs a client by the samples of "
            "all clients of a round, which are not known before their updates are there");
  for (const std::string kind : {"masked", "openfhe", "tenseal"}) {
    EXPECT_EQ(why([&](AggregatorFlags& f) { f.run.encryption.kind = kind; }),
              "--buffer-size=3: not with --encryption=" + kind +
                  ": it hides an update in the sum of clients that agree on it before they train, "
                  "and the updates of a buffer come one by one");
  }
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.run.federation.dp_clip = 1;
              f.run.federation.dp_noise = 1;
            }),
            "--buffer-size=3: not with --dp-clip: the account of privacy counts rounds, in each of "
            "which a client is asked once, and a buffer asks fast clients more often than others");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.federation.local_parameters = "*_FC_*"; }),
            "--buffer-size=3: not with --local-parameters=*_FC_*: they follow the rounds that have "
            "used a client's updates, and an update of a buffer begins in one round and is used in "
            "another");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.min_clients = 20;
              f.rounds.robust = "krum:0.4";
            }),
            "--buffer-size=3: --robust=krum:0.4 needs 11 or more, 3 more than twice the updates "
            "that it leaves out");
  const auto with_median = [](int64_t size) {
    return [size](AggregatorFlags& f) {
      f.min_clients = 2000;
      f.rounds.buffer_size = size;
      f.rounds.robust = "median";
    };
  };
  EXPECT_EQ(why(with_median(64)), "") << "there may be more clients than the mean takes updates";
  EXPECT_EQ(why(with_median(65)),
            "--buffer-size=65: --robust=median needs all updates of the buffer at once, and takes "
            "64 at most");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.min_clients = 20;
              f.rounds.robust = "trimmed:0.2";
            }),
            "--robust=trimmed:0.2: of 3 updates, the most of a round, it leaves out 0.6, which is "
            "none; give a larger fraction");
}

TEST(AggregatorFlagsTest, ControlVariatesSayWithWhatTheyAreRefused) {
  const auto why = [](const std::function<void(AggregatorFlags&)>& change) {
    AggregatorFlags flags;
    flags.run.network.name = "simplecnn8";
    flags.rounds.strategy = "scaffold";
    change(flags);
    return std::string(CheckAggregatorFlags(flags).message());
  };
  const std::string begin =
      "--strategy=scaffold: strategy scaffold sends control variates, and not with ";
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.encryption.kind = "masked"; }), "");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.encryption.kind = "openfhe"; }), "");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.run.federation.dp_clip = 1;
              f.run.federation.dp_noise = 1;
            }),
            begin + "differential privacy: clip and noise are those of parameters");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.federation.local_parameters = "*_FC_*"; }),
            begin + "parameters that stay with clients");
}

TEST(AggregatorFlagsTest, ParentsSayWhyOptionsAreRefused) {
  const auto why = [](const std::function<void(AggregatorFlags&)>& change) {
    AggregatorFlags flags;
    flags.run.network.name = "simplecnn8";
    flags.parent = "node1:61643";
    change(flags);
    return std::string(CheckAggregatorFlags(flags).message());
  };
  EXPECT_EQ(why([](AggregatorFlags&) {}), "");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.encryption.kind = "masked"; }), "");
  const std::pair<const char*, std::function<void(AggregatorFlags&)>> of_parent[] = {
      {"--rounds", [](auto& f) { f.rounds.rounds = 3; }},
      {"--strategy", [](auto& f) { f.rounds.strategy = "avg"; }},
      {"--proximal-mu", [](auto& f) { f.rounds.proximal_mu = 3; }},
      {"--server-learning-rate", [](auto& f) { f.rounds.server_learning_rate = 3; }},
      {"--server-momentum", [](auto& f) { f.rounds.server_momentum = 0.5; }},
      {"--buffer-size", [](auto& f) { f.rounds.buffer_size = 2; }},
      {"--test-every, or data to test with", [](auto& f) { f.rounds.test_every = 2; }},
      {"--checkpoint-dir", [](auto& f) { f.run.checkpoint.folder = "a"; }},
      {"--resume", [](auto& f) { f.run.checkpoint.resume = Resume::kYes; }}};
  for (const auto& [flag, change] : of_parent) {
    EXPECT_EQ(why(change), std::string(flag) + ": not with --parent, which has it; give it there");
  }
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.federation.dp_clip = 1; }),
            "--dp-clip: not with --parent: neither of the two could count what the other's rounds "
            "reveal of a client");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.rounds.compression = "int8"; }), "");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.rounds.compression = "top-k:0.1"; }),
            "--update-compression=top-k:0.1: not with --parent=node1:61643: clients keep what they "
            "have not sent, and could not learn whether the parent has used the rest");
  EXPECT_EQ(why([](AggregatorFlags& f) { f.run.federation.local_parameters = "*_FC_*"; }),
            "--local-parameters=*_FC_*: not with --parent: clients could not learn whether it has "
            "used their updates");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.parent = "";
              f.run.federation.client_name = "north";
            }),
            "--client-name=north: needs --parent, the aggregator that it is for");
  EXPECT_EQ(why([](AggregatorFlags& f) {
              f.parent.clear();
              f.run.federation.client_labels = "site=north";
            }),
            "--client-labels=site=north: needs --parent, the aggregator that it is for");
}

TEST(AggregatorFlagsTest, TestsFollowTheData) {
  const auto every = [](const std::string& path, const std::string& test_path, int64_t given) {
    AggregatorFlags flags;
    flags.run.data.path = path;
    flags.run.data.test_path = test_path;
    flags.rounds.test_every = given;
    FollowData(flags);
    return flags.rounds.test_every;
  };
  constexpr int64_t kNotGiven = RoundFlags::kNotGiven;
  EXPECT_EQ(every("", "", kNotGiven), 0);
  EXPECT_EQ(every("a", "", kNotGiven), 1);
  EXPECT_EQ(every("", "b", kNotGiven), 1);
  EXPECT_EQ(every("", "b", 5), 5);
}

}  // namespace
}  // namespace dtnn
