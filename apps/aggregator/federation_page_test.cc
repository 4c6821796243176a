// The page of a federation in a browser.

#include "apps/aggregator/federation_page.h"

#include <string>

#include "apps/aggregator/federation_watch.h"
#include "apps/monitor/monitor.h"
#include "apps/testing/browser.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using nlohmann::json;
using testing::Browser;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::When;
using State = federation::Asked::State;

TEST(FederationPageTest, LoadsNothingFromElsewhere) {
  const std::string page = FederationPage();
  EXPECT_THAT(page, HasSubstr("<meta name=\"generator\" content=\"DTNN\">"));
  for (const char* part : {" src=", "@import", "url(", "https://", "innerHTML", "@version@"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(FederationPageTest, ShowsRoundsAndClientsAsText) {
  if (!Browser::IsThere()) GTEST_SKIP() << Browser::kMissing;
  FederationWatch watch{std::chrono::seconds(60)};
  watch.Begin("net", 0, 9, false);
  const std::string hostile = "<img src=x onerror=alert(1)>";
  watch.OnClient(hostile, 100);
  watch.OnClient("north", 50);
  MonitorOptions options;
  options.port = 0;
  const auto monitor = Must(Monitor::Start(options, watch));
  Browser browser(testing::NewFolder("page") + "/browser");
  browser.Open(monitor->url() + "/");
  const json clients = browser.Evaluate(
      When("at('clients').rows.length",
           "[...at('clients').rows].map(row => [...row.cells].map(cell => cell.textContent))"));
  ASSERT_EQ(clients.size(), 2) << clients;
  EXPECT_EQ(clients[0][0], hostile);
  EXPECT_EQ(clients[1][0], "north");
  EXPECT_EQ(clients[1][1], "there");
  EXPECT_EQ(clients[1][2], "50");

  for (int64_t round = 1; round <= 3; ++round) {
    watch.OnSave();
    watch.OnRoundDone({.round = round,
                       .attempts = 1,
                       .seconds = 0.5,
                       .bytes_sent = 2'500'000,
                       .clients = {{.state = State::kAccepted}, {}},
                       .metrics = {{"loss", 1.0 / double(round)}, {"val_acc", 0.5}}});
  }
  const json rounds = browser.Evaluate(
      When("at('rounds').rows.length == 3",
           "[...at('rounds').rows].map(row => [...row.cells].map(cell => cell.textContent))"));
  EXPECT_EQ(rounds[0], json({"3", "1 of 2", "1", "0.50", "2.50", "0.00", "0.33333", "0.5"}));
  EXPECT_EQ(browser.Evaluate("Promise.resolve([...at('metric').options].map(o => o.value))"),
            json({"loss", "val_acc"}));
  // The line of falling values falls: y grows.
  EXPECT_EQ(
      browser.Evaluate(
          "Promise.resolve(document.querySelector('#curve polyline').getAttribute('points'))"),
      "70.00,20.00 385.00,143.75 700.00,185.00");
  EXPECT_THAT(browser.Evaluate("Promise.resolve(at('state').textContent)").get<std::string>(),
              HasSubstr("3 of 9 rounds are done"));
  EXPECT_THAT(browser.complaints(), IsEmpty());
}

TEST(FederationPageTest, AsksForTheToken) {
  if (!Browser::IsThere()) GTEST_SKIP() << Browser::kMissing;
  FederationWatch watch{std::chrono::seconds(60)};
  watch.Begin("net", 0, 9, false);
  const std::string folder = testing::NewFolder("token"), token = "0123456789abcdef";
  MonitorOptions options;
  options.port = 0;
  options.token_file = folder + "/token";
  ASSERT_TRUE(WritePrivateFile(options.token_file, token).ok());
  const auto monitor = Must(Monitor::Start(options, watch));
  Browser browser(folder + "/browser");
  browser.Open(monitor->url() + "/");
  EXPECT_EQ(browser.Evaluate(When("at('error').textContent", "at('secret').hidden")), false);
  browser.Evaluate("at('token').value = '" + token +
                   "'; at('token').dispatchEvent(new Event('change')); " +
                   When("at('state').textContent", "1"));
  EXPECT_EQ(browser.Evaluate("Promise.resolve(at('title').textContent)"), "A federation of net");
  EXPECT_EQ(browser.Evaluate("Promise.resolve(at('error').textContent)"), "");
}

}  // namespace
}  // namespace dtnn
