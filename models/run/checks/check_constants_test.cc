#include "models/run/checks/check_constants.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/options/in_force.h"
#include "optim/optimizers/adam.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

std::string Error(const RunOptions& options, const Optimizer* optimizer = nullptr,
                  bool own_schedulers = false) {
  return std::string(CheckConstants(options, optimizer, own_schedulers).message());
}

TEST(CheckConstantsTest, AConstantThatTheOptimizerLacksIsRefused) {
  EXPECT_EQ(Error({.optimizer = {.name = "sgd", .beta1 = 0.5}}),
            "RunOptions::optimizer.beta1=0.5: optimizer sgd has no such constant; leave it out, or "
            "choose an optimizer that has it");
  EXPECT_THAT(Error({.optimizer = {.name = "adam", .nesterov = true}}),
              HasSubstr("RunOptions::optimizer.nesterov=True: optimizer adam has no"));
  EXPECT_THAT(Error({.optimizer = {.name = "adam", .tau_prime = 3}}),
              HasSubstr("RunOptions::optimizer.tau_prime=3: optimizer adam has no"));
  EXPECT_EQ(Error({.optimizer = {.name = "sgd", .learning_rate = 1, .momentum = 0.5, .decay = 1}}),
            "");
  EXPECT_EQ(Error({.optimizer = {.name = "sgd", .average_decay = 0.5}}), "");
  EXPECT_EQ(Error({.optimizer = {.name = "oktopk", .tau = 3, .tau_prime = 3, .density = 0.5}}), "");
}

TEST(CheckConstantsTest, AConstantOfASchedulerThatIsNotThereIsRefused) {
  RunOptions options;
  options.schedule.schedulers = {"early_stopping"};
  options.schedule.early_stopping.patience = 3;
  EXPECT_EQ(Error(options), "");
  EXPECT_EQ(Error(options, nullptr, /*own_schedulers=*/true),
            "RunOptions::schedule.early_stopping.patience=3: cannot be used together with "
            "scheduler objects; give the object its constants");
  options.schedule.cosine.min_rate = 0.5;
  EXPECT_EQ(Error(options),
            "RunOptions::schedule.cosine.min_rate=0.5: the run has no scheduler cosine; add it to "
            "RunOptions::schedule.schedulers, or leave this out");
}

TEST(CheckConstantsTest, OptionsInForceCanBeGivenAgain) {
  for (const char* name : {"sgd", "adam", "oktopk", "rmsprop"}) {
    EXPECT_EQ(Error(InForce({.optimizer = {.name = name}})), "") << name;
  }
}

TEST(CheckConstantsTest, AnObjectHasItsOwn) {
  const Adam adam({.beta1 = 0.5});
  EXPECT_EQ(Error({.optimizer = {.name = "adam"}}, &adam), "");
  EXPECT_EQ(Error({.optimizer = {.name = "adam", .decay_all = true, .beta1 = 0.5}}, &adam), "");
  EXPECT_EQ(Error({.optimizer = {.name = "adam", .average_decay = 0.5}}, &adam),
            "RunOptions::optimizer.average_decay=0.5: cannot be used together with an optimizer "
            "object; give the object its constants");
  EXPECT_EQ(Error({.optimizer = {.name = "adam", .beta1 = 0.75}}, &adam),
            "RunOptions::optimizer.beta1=0.75: cannot be used together with an optimizer object; "
            "give the object its constants");
}

}  // namespace
}  // namespace dtnn
