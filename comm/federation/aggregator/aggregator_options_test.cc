#include "comm/federation/aggregator/aggregator_options.h"

#include <chrono>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

AggregatorOptions Good() {
  AggregatorOptions options;
  options.model = {.network = {}, .values = 3, .trainable = 2};
  options.min_clients = 2;
  options.deadline = options.timeout = std::chrono::seconds(1);
  return options;
}

FederationState State() {
  FederationState state;
  state.parameters = {1, 2, 3};
  return state;
}

TEST(AggregatorOptionsTest, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(Validate(Good(), State()), absl::OkStatus());
  const std::pair<std::function<void(AggregatorOptions&, FederationState&)>, const char*> bad[] = {
      {[](auto& o, auto&) { o.min_clients = 0; }, "at least 0 clients: expected 1 to 4096"},
      {[](auto& o, auto&) { o.min_clients = 4097; }, "at least 4097 clients"},
      {[](auto& o, auto&) { o.max_connections = 1; },
       "1 connections at most, and a round of at least 2 clients"},
      {[](auto& o, auto&) {
         o.min_clients = 1;
         o.protection.protection = Protection::kMasked;
       },
       "expected 2 to 255"},
      {[](auto& o, auto&) {
         o.min_clients = 65;
         o.protection.protection = Protection::kThreshold;
       },
       "at least 65 clients: expected 2 to 64"},
      {[](auto& o, auto&) {
         o.min_clients = 65;
         o.robust.kind = RobustKind::kMedian;
       },
       "at least 65 clients: expected 1 to 64"},
      {[](auto& o, auto&) {
         o.min_clients = 65;
         o.place.datagrams = [](const auto&) { return absl::UnknownError(""); };
       },
       "at least 65 clients: expected 1 to 64"},
      {[](auto& o, auto&) { o.client_fraction = 0; }, "a fraction of 0"},
      {[](auto& o, auto&) { o.classes.outputs = 65537; },
       "65537 outputs; a federation takes 65536"},
      {[](auto& o, auto&) {
         o.classes = {.outputs = 3, .names = {"a", "b"}};
       },
       "2 names of classes for 3 outputs"},
      {[](auto& o, auto&) {
         o.classes = {.outputs = 2, .names = {"a", ""}};
       },
       "called \"\""},
      {[](auto& o, auto&) { o.classes = {.outputs = 1, .names = {"\x1b[2J"}}; },
       "without control characters"},
      {[](auto& o, auto&) { o.classes = {.outputs = 1, .names = {std::string(256, 'n')}}; },
       "expected UTF-8 text of 1 to 255 bytes"},
      {[](auto& o, auto&) {
         o.classes.outputs = 20000;
         for (int i = 0; i < 20000; ++i) {
           const std::string number = std::to_string(i);
           o.classes.names.push_back(number + std::string(255 - number.size(), 'n'));
         }
       },
       "at most"},
      {[](auto& o, auto&) { o.client_fraction = 1.5; }, "a fraction of 1.5"},
      {[](auto& o, auto&) { o.deadline = std::chrono::seconds(0); }, "needs a deadline"},
      {[](auto& o, auto&) { o.model.trainable = 4; }, "a model"},
      {[](auto& o, auto&) {
         o.protection.protection = Protection::kSharedKey;
         o.strategy.strategy = Strategy::kFedadam;
       },
       "fedadam needs the average"},
      {[](auto& o, auto&) {
         o.protection.protection = Protection::kThreshold;
         o.max_update_norm = 1;
       },
       "norms of updates"},
      {[](auto& o, auto&) { o.robust = {.kind = RobustKind::kKrum, .number = 0.2}; },
       "krum:0.2 of 2 to 64 updates: expected at least 3"},
      {[](auto&, auto& s) { s.parameters.pop_back(); }, "the state has 2 parameters, the model 3"},
  };
  for (const auto& [spoil, text] : bad) {
    AggregatorOptions options = Good();
    FederationState state = State();
    spoil(options, state);
    const absl::Status status = Validate(options, state);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

}  // namespace
}  // namespace dtnn::federation
