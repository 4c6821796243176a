#include "apps/printing/command_line.h"

#include "apps/flags/parser.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(CommandLineTest, SaysWhatWasGivenUnderNewNames) {
  const auto parsed = ParseFlags(std::vector<std::string>{
      "--momentum=0.8", "--model", "simplecnn", "--noevaluate", "--dataset=mnist",
      "--dataset-path=/my data/it's", "--metrics=categorical_accuracy,categorical_mse"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string line = CommandLineOf(parsed->options, 1);
  EXPECT_EQ(line,
            "benchmark --model=simplecnn --evaluate=False --dataset=mnist "
            "--dataset-path='/my data/it'\\''s' --optimizer-momentum=0.8 "
            "--metrics=categorical_accuracy,categorical_mse");
}

TEST(CommandLineTest, SaysWhatStartsTheRanks) {
  const auto parsed = ParseFlags(
      std::vector<std::string>{"--model=simplecnn", "--dataset=mnist", "--parallel=data",
                               "--transport=tcp", "--rendezvous=node1:61642", "--elastic=2:4"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string line = "benchmark --model=simplecnn --dataset=mnist --parallel=data";
  Options options = parsed->options;
  EXPECT_EQ(CommandLineOf(options, 1), line);
  EXPECT_EQ(CommandLineOf(options, 4),
            "launch -n 4 --rendezvous=node1:61642 --elastic=2:4 -- " + line);
  options.given.erase("rendezvous");
  options.ranks.elastic.clear();
  for (const auto& [transport, launcher] :
       {std::pair(TransportChoice(), "mpirun -np 4 "),
        std::pair(TransportChoice(Transport::kMpi), "mpirun -np 4 "),
        std::pair(TransportChoice(Transport::kTcp), "launch -n 4 -- "),
        std::pair(TransportChoice(Transport::kGrpc), "launch -n 4 --transport=grpc -- "),
        std::pair(TransportChoice(Transport::kMqtt), "launch -n 4 --transport=mqtt -- ")}) {
    options.ranks.transport = transport;
    EXPECT_EQ(CommandLineOf(options, 4), launcher + line);
  }
  options.ranks.parallel = Parallel::kFederated;
  options.ranks.transport = Transport::kGrpc;
  options.given.erase("elastic");
  EXPECT_EQ(CommandLineOf(options, 1),
            "benchmark --model=simplecnn --dataset=mnist --parallel=federated --transport=grpc");
}

}  // namespace
}  // namespace dtnn
