// Parameters that stay with clients that are processes of their own.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "apps/testing/recording_relay.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::Process;
using testing::RecordingRelay;
using Flags = std::vector<std::string>;
using Values = std::vector<float>;

const std::string kLocal = "--local-parameters=*_FC_*";

// Two numbers one after another, as they are in memory.
using Pairs = std::unordered_set<uint64_t>;
Pairs PairsOf(const Values& values) {
  Pairs pairs;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (values[i] == 0 || values[i] == values[i + 1]) continue;  // as other bytes may be
    uint64_t pair = 0;
    std::memcpy(&pair, &values[i], sizeof(pair));
    pairs.insert(pair);
  }
  return pairs;
}

// How many of them are anywhere in these bytes.
size_t Found(const Pairs& pairs, std::string_view bytes) {
  std::set<uint64_t> found;
  for (size_t i = 0; i + sizeof(uint64_t) <= bytes.size(); ++i) {
    uint64_t pair = 0;
    std::memcpy(&pair, bytes.data() + i, sizeof(pair));
    if (pairs.contains(pair)) found.insert(pair);
  }
  return found.size();
}

class LocalParametersTest : public testing::FederationPrograms {
 protected:
  // The numbers in the file of a client.
  Values Kept(const std::string& folder, const std::string& array) {
    ArrayFileReader file =
        Must(ArrayFileReader::Open(folder_ + "/" + folder + "/local-parameters.npz"));
    const Tensor tensor = Must(file.Read(array));
    return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
  }
  Flags InFolder(const std::string& folder) const {
    return {kLocal, "--checkpoint-dir=" + folder_ + "/" + folder, "--resume=if-there"};
  }
};

// Without zeros, which fill up memory.
Values Sorted(Values values) {
  std::erase(values, 0.0f);
  std::ranges::sort(values);
  return values;
}

// Neither what they begin with nor what training makes of them; and all others do.
TEST_F(LocalParametersTest, NoByteOfThemIsSent) {
  RecordingRelay relay(address_);
  const auto aggregator = Aggregator({kLocal, "--rounds=1", "--min-clients=1", "--strategy=avg",
                                      "--save-model=" + folder_ + "/all.npz"});
  Flags options = InFolder("kept");
  options.push_back("--server=" + relay.address());
  const Outcome client = Client(1, options)->Wait(), outcome = aggregator->Wait();
  ASSERT_EQ(client.exit_code, 0) << client.text;
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  // One client, so that the mean is what it has sent.
  const Pairs trained = PairsOf(Parameters("client-1.npz", "_FC_")),
              initial = PairsOf(Parameters("all.npz", "_FC_")),
              sent = PairsOf(Parameters("client-1.npz", "_Conv2D_weights"));
  ASSERT_GT(trained.size(), 1000u);
  ASSERT_GT(initial.size(), 1000u);
  ASSERT_GT(sent.size(), 100u);
  const std::string up = relay.ToServer(), down = relay.ToClients();
  for (const std::string& bytes : {up, down}) {
    EXPECT_EQ(Found(sent, bytes), sent.size() - 1) << "without the pair of two arrays";
    EXPECT_EQ(Found(trained, bytes), 0u);
    EXPECT_EQ(Found(initial, bytes), 0u);
  }
  // The aggregator has only those that all began with, and says so.
  EXPECT_EQ(Sorted(Parameters("all.npz", "_FC_")), Sorted(Kept("kept", "before")));
  EXPECT_EQ(Sorted(Parameters("client-1.npz", "_FC_")), Sorted(Kept("kept", "trained")));
  EXPECT_THAT(outcome.text, HasSubstr("numbers of *_FC_*, which stay with clients, are those that "
                                      "the rounds began with\n"));
  EXPECT_THAT(outcome.text, HasSubstr(" that stay with each client), 1 round to do"));
  EXPECT_THAT(client.text, HasSubstr(" of the network stay with this client, and "));
}

// A client is killed twice, at random moments, and continues with the same bits; without its file
// it cannot.
TEST_F(LocalParametersTest, ComeBackWithTheClient) {
  std::mt19937_64 random(20261127);
  const auto train = [&](bool kill, const Flags& of_first) {
    const auto aggregator =
        Aggregator({kLocal, "--rounds=16", "--min-clients=2", "--encryption=masked"});
    Flags first = of_first;
    first.push_back("--encryption=masked");
    auto one = Client(1, first);
    const auto two = Client(2, {kLocal, "--encryption=masked"});
    for (const std::string round :
         {"2 of 16...", ""}) {  // which one it comes back in, nobody knows
      if (!kill) break;
      EXPECT_TRUE(one->ReadUntil("**** Round " + round)) << one->text();
      usleep(useconds_t(random() % 50'000));
      one->Signal(SIGKILL);
      one->Wait();
      one = Client(1, first);
    }
    for (Process* process : {one.get(), two.get(), aggregator.get()}) {
      const Outcome outcome = process->Wait();
      EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    }
    return std::pair(Parameters("client-1.npz"), Parameters("client-2.npz"));
  };
  const auto whole = train(false, {kLocal});
  EXPECT_EQ(Parameters("client-1.npz", "_Conv2D_"), Parameters("client-2.npz", "_Conv2D_"));
  EXPECT_GT(Distance(Parameters("client-1.npz", "_FC_"), Parameters("client-2.npz", "_FC_")), 1e-3);
  EXPECT_EQ(train(true, InFolder("kept")), whole);
  EXPECT_NE(train(true, {kLocal}), whole);
}

// With noise too, where running statistics of batch normalisation stay.
TEST_F(LocalParametersTest, StayWithEveryProtection) {
  const auto train = [this](const Flags& of_all, const Flags& of_clients) {
    Flags aggregator_flags = {"--rounds=2", "--min-clients=2"}, client_flags = of_clients;
    aggregator_flags.insert(aggregator_flags.end(), of_all.begin(), of_all.end());
    client_flags.insert(client_flags.end(), of_all.begin(), of_all.end());
    const auto aggregator = Aggregator(aggregator_flags);
    const auto one = Client(1, client_flags), two = Client(2, client_flags);
    for (const auto& process : {&one, &two, &aggregator}) {
      const Outcome outcome = (*process)->Wait();
      EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    }
    return std::pair(Parameters("client-1.npz"), Parameters("client-2.npz"));
  };
  const auto plain = train({kLocal}, {});
  for (const std::string encryption : {"masked", "tenseal", "openfhe"}) {
    Flags of_clients;
    if (encryption == "tenseal") of_clients = {"--encryption-key-file=" + folder_ + "/key"};
    const auto hidden = train({kLocal, "--encryption=" + encryption}, of_clients);
    EXPECT_LT(Distance(hidden.first, plain.first), 1e-4) << encryption;
    EXPECT_LT(Distance(hidden.second, plain.second), 1e-4) << encryption;
  }
  train({"--model=vgg3dobn", "--local-parameters=*_running_*", "--dp-clip=1", "--dp-noise=0.1"},
        {});
  EXPECT_EQ(Parameters("client-1.npz", "_gamma"), Parameters("client-2.npz", "_gamma"));
  EXPECT_NE(Parameters("client-1.npz", "_running_"), Parameters("client-2.npz", "_running_"));
}

TEST_F(LocalParametersTest, AllMustKeepTheSame) {
  const auto aggregator = Aggregator({kLocal, "--rounds=1", "--min-clients=1"});
  const auto refused = [this](const Flags& flags, int exit_code) {
    const Outcome outcome = Client(1, flags)->Wait();
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.text;
    return outcome.text;
  };
  const std::string same = "; local parameters must be the same for the aggregator and all clients";
  EXPECT_THAT(
      refused({}, kExitFailed),
      HasSubstr("this client exchanges all parameters, this federation keeps some local" + same));
  EXPECT_THAT(refused({"--local-parameters=*_biases"}, kExitFailed),
              HasSubstr("this client keeps other parameters local than this federation" + same));
  EXPECT_THAT(refused({"--local-parameters=*_FC_*,*BatchNorm*"}, kExitUsage),
              HasSubstr("--local-parameters: \"*BatchNorm*\" matches no parameter of model "
                        "simplecnn8 that training changes"));
  EXPECT_THAT(refused({"--local-parameters=*"}, kExitUsage),
              HasSubstr("--local-parameters: \"*\" leaves no trainable parameter of model "
                        "simplecnn8 to exchange"));
  // Other patterns that mean the same.
  const Outcome outcome = Client(1, {"--local-parameters=*_FC_weights,*_FC_biases"})->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(aggregator->Wait().exit_code, 0);
  const Outcome none = Aggregator({"--local-parameters=,", "--rounds=1"})->Wait();
  EXPECT_EQ(none.exit_code, kExitUsage);
  EXPECT_THAT(none.text, HasSubstr("--local-parameters: \",\" contains no pattern"));
}

// The state of a federation is of parameters that are exchanged.
TEST_F(LocalParametersTest, AnAggregatorThatResumesMustBeToldTheSame) {
  const Flags options = {"--rounds=1", "--min-clients=1", "--resume=if-there",
                         "--checkpoint-dir=" + folder_ + "/state"};
  Flags local = options;
  local.push_back(kLocal);
  const auto aggregator = Aggregator(local);
  EXPECT_EQ(Client(1, {kLocal})->Wait().exit_code, 0);
  EXPECT_EQ(aggregator->Wait().exit_code, 0);
  const Outcome other = Aggregator(options)->Wait();
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, HasSubstr("with the strategy \"wavg, without *_FC_*\"; this one has "
                                    "\"wavg\""));
  EXPECT_EQ(Aggregator(local)->Wait().exit_code, 0);
}

// A client may begin its own with those of a file; the aggregator decides about the others.
TEST_F(LocalParametersTest, MayBeginWithThoseOfAFile) {
  const auto aggregator = Aggregator({"--rounds=1", "--min-clients=1"});
  ASSERT_EQ(Client(1)->Wait().exit_code, 0);
  ASSERT_EQ(aggregator->Wait().exit_code, 0);
  const Values first = Parameters("client-1.npz", "_FC_");
  std::filesystem::rename(folder_ + "/client-1.npz", folder_ + "/first.npz");
  const auto second = Aggregator({kLocal, "--rounds=1", "--min-clients=1"});
  Flags flags = InFolder("kept");
  flags.insert(flags.end(), {"--weights-and-bias-filename=" + folder_ + "/first.npz"});
  const Outcome outcome = Client(1, flags)->Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(second->Wait().exit_code, 0);
  EXPECT_EQ(Sorted(Kept("kept", "before")), Sorted(first));
}

}  // namespace
}  // namespace dtnn
