// The manifests for Kubernetes: names that must meet do, options are valid, ranks find their
// places.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "comm/launch_place.h"
#include "comm/ranks/job/job_environment.h"
#include "examples/deploy/called_programs.h"
#include "examples/deploy/checks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "yaml-cpp/yaml.h"

namespace dtnn {
namespace {

using testing::CalledPrograms;
using testing::ExpectPlaces;
using testing::ExpectValid;
using testing::kDeployFolder;
using testing::OptionOf;
using testing::ProgramCall;
using testing::Words;

std::string VariablesOf(const YAML::Node& container) {
  std::string variables;
  for (const YAML::Node& variable : container["env"]) {
    const auto name = variable["name"].as<std::string>();
    if (const YAML::Node value = variable["value"]) {
      variables += name + "=" + value.as<std::string>() + " ";
    } else {
      EXPECT_EQ(variable["valueFrom"]["secretKeyRef"]["name"].as<std::string>(), "dtnn-job");
      EXPECT_EQ(variable["valueFrom"]["secretKeyRef"]["key"].as<std::string>(), "secret");
      variables += name + "=" + std::string(64, 'a') + " ";
    }
  }
  return variables;
}

// A command as a word of the shell.
std::string Quote(const std::string& text) {
  EXPECT_EQ(text.find('\''), text.npos);
  return "'" + text + "'";
}

// The objects of a file by their kinds and names.
std::map<std::string, YAML::Node> Objects(const std::string& file) {
  std::map<std::string, YAML::Node> objects;
  for (const YAML::Node& object : YAML::LoadAllFromFile(kDeployFolder + "kubernetes/" + file)) {
    EXPECT_TRUE(object["apiVersion"] && object["kind"] && object["metadata"]["name"]);
    objects[object["kind"].as<std::string>() + "/" + object["metadata"]["name"].as<std::string>()] =
        object;
  }
  return objects;
}

void ExpectScraped(const YAML::Node& annotations, const std::string& port) {
  ASSERT_TRUE(annotations);
  EXPECT_EQ(annotations["prometheus.io/scrape"].as<std::string>(), "true");
  EXPECT_EQ(annotations["prometheus.io/path"].as<std::string>(), "/metrics");
  EXPECT_EQ(annotations["prometheus.io/port"].as<std::string>(), port);
  EXPECT_NE(port, "9100") << "the node exporter's";
}

// What Kubernetes refuses, or what does nothing there: names that do not meet.
void ExpectConsistent(const std::map<std::string, YAML::Node>& objects) {
  for (const auto& [name, object] : objects) {
    SCOPED_TRACE(name);
    const YAML::Node spec = object["spec"];
    if (object["kind"].as<std::string>() == "Service") {
      const auto selected = spec["selector"]["app"].as<std::string>();
      const bool some = std::ranges::any_of(objects, [&](const auto& other) {
        const YAML::Node pod = other.second["spec"]["template"];
        return pod && pod["metadata"]["labels"]["app"].template as<std::string>() == selected;
      });
      EXPECT_TRUE(some) << "no pod has the label app: " << selected;
    }
    if (!spec["template"]) continue;
    const YAML::Node pod = spec["template"]["spec"];
    if (spec["selector"]) {
      EXPECT_EQ(spec["selector"]["matchLabels"]["app"].as<std::string>(),
                spec["template"]["metadata"]["labels"]["app"].as<std::string>());
    }
    ASSERT_EQ(pod["containers"].size(), 1);
    const YAML::Node container = pod["containers"][0];
    std::map<std::string, std::string> ports;
    for (const YAML::Node& port : container["ports"]) {
      ports[port["name"].as<std::string>()] = port["containerPort"].as<std::string>();
    }
    EXPECT_NE(object["kind"].as<std::string>(), "Deployment") << "it would begin what has ended";
    EXPECT_FALSE(container["securityContext"]["allowPrivilegeEscalation"].as<bool>());
    EXPECT_EQ(container["securityContext"]["capabilities"]["drop"][0].as<std::string>(), "ALL");
    EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"].as<std::string>(), "RuntimeDefault");
    EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>());
    EXPECT_NE(container["image"].as<std::string>().find('/'), std::string::npos);
    for (const char* probe : {"startupProbe", "livenessProbe"}) {
      if (!container[probe]) continue;
      EXPECT_EQ(container[probe]["httpGet"]["path"].as<std::string>(), "/healthz");
      EXPECT_TRUE(ports.contains(container[probe]["httpGet"]["port"].as<std::string>()));
    }
    std::set<std::string> volumes;
    for (const YAML::Node& volume : pod["volumes"]) {
      volumes.insert(volume["name"].as<std::string>());
      const auto claim = volume["persistentVolumeClaim"]["claimName"].as<std::string>();
      EXPECT_TRUE(objects.contains("PersistentVolumeClaim/" + claim)) << claim;
    }
    for (const YAML::Node& mount : container["volumeMounts"]) {
      EXPECT_TRUE(volumes.contains(mount["name"].as<std::string>()));
    }
  }
}

TEST(KubernetesTest, AFederationMeets) {
  const std::map<std::string, YAML::Node> objects = Objects("federation.yaml");
  ExpectConsistent(objects);
  const YAML::Node container =
      objects.at("Job/aggregator")["spec"]["template"]["spec"]["containers"][0];
  const Words aggregator = container["args"].as<Words>();
  ExpectValid(aggregator);
  EXPECT_EQ(OptionOf(aggregator, "address"),
            "0.0.0.0:" + container["ports"][0]["containerPort"].as<std::string>());
  const std::string metrics = OptionOf(aggregator, "metrics-port");
  EXPECT_EQ(metrics, container["ports"][1]["containerPort"].as<std::string>());
  EXPECT_TRUE(container["startupProbe"] && container["livenessProbe"]);
  ExpectScraped(objects.at("Job/aggregator")["spec"]["template"]["metadata"]["annotations"],
                metrics);
  const YAML::Node ingress = objects.at("NetworkPolicy/aggregator")["spec"]["ingress"];
  EXPECT_EQ(ingress[0]["from"][0]["podSelector"]["matchLabels"]["app"].as<std::string>(), "client");
  EXPECT_EQ(ingress[1]["ports"][0]["port"].as<std::string>(), "metrics");

  const YAML::Node job = objects.at("Job/client")["spec"];
  EXPECT_EQ(job["completionMode"].as<std::string>(), "Indexed");
  EXPECT_EQ(job["completions"].as<std::string>(), OptionOf(aggregator, "min-clients"));
  EXPECT_EQ(job["parallelism"].as<std::string>(), OptionOf(aggregator, "min-clients"));
  const YAML::Node client = job["template"]["spec"]["containers"][0];
  const Words command = client["command"].as<Words>();
  ASSERT_EQ(command.size(), 3);
  CalledPrograms programs;
  std::set<std::string> names, parts;
  for (int index = 0; index < 3; ++index) {
    const std::string variables =
        VariablesOf(client) + "JOB_COMPLETION_INDEX=" + std::to_string(index);
    const std::map<std::string, ProgramCall> calls =
        programs.Run("sh -c " + Quote(command[2]), variables, "JOB_COMPLETION_INDEX");
    ASSERT_EQ(calls.size(), 1);
    const ProgramCall& call = calls.begin()->second;
    ExpectValid(call.arguments);
    EXPECT_STREQ(call.Get(kTransportVariable), "grpc");
    names.insert(OptionOf(call.arguments, "client-name"));
    parts.insert(OptionOf(call.arguments, "dataset-part"));
    const YAML::Node port = objects.at("Service/aggregator")["spec"]["ports"][0];
    EXPECT_EQ(OptionOf(call.arguments, "server"), "aggregator:" + port["port"].as<std::string>());
  }
  EXPECT_THAT(names, ::testing::ElementsAre("client-0", "client-1", "client-2"));
  EXPECT_THAT(parts, ::testing::ElementsAre("1/3", "2/3", "3/3"));
}

TEST(KubernetesTest, RanksFindTheirPlaces) {
  const std::map<std::string, YAML::Node> objects = Objects("ranks.yaml");
  ExpectConsistent(objects);
  const YAML::Node set = objects.at("StatefulSet/ranks")["spec"];
  const YAML::Node service = objects.at("Service/" + set["serviceName"].as<std::string>())["spec"];
  EXPECT_EQ(service["clusterIP"].as<std::string>(), "None") << "names of pods need that";
  EXPECT_TRUE(service["publishNotReadyAddresses"].as<bool>());
  EXPECT_EQ(set["podManagementPolicy"].as<std::string>(), "Parallel") << "ranks wait for others";
  const YAML::Node container = set["template"]["spec"]["containers"][0];
  const Words command = container["command"].as<Words>();
  const int ranks = set["replicas"].as<int>();
  CalledPrograms programs;
  std::map<std::string, ProgramCall> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string variables = VariablesOf(container) + "HOSTNAME=ranks-" + std::to_string(rank);
    all.merge(programs.Run("sh -c " + Quote(command[2]), variables, "HOSTNAME"));
  }
  ExpectPlaces(all, ranks, Transport::kGrpc);
  const YAML::Node told = objects.at("Service/ranks-metrics");
  EXPECT_EQ(told["spec"]["selector"]["statefulset.kubernetes.io/pod-name"].as<std::string>(),
            "ranks-0");
  ExpectScraped(told["metadata"]["annotations"],
                OptionOf(all.at("ranks-0").arguments, "metrics-port"));
  EXPECT_STREQ(all.at("ranks-3").Get(kRankVariable), "3");
  EXPECT_STREQ(all.at("ranks-3").Get(kAddressVariable), "ranks-0.ranks");
}

}  // namespace
}  // namespace dtnn
