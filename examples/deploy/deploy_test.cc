// The files for containers and batch systems: they say what their readers expect, all options in
// them exist and are valid, and the ranks that they start find their places.

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/aggregator/aggregator_flags.h"
#include "apps/flags/parser.h"
#include "apps/flags/tool_flags.h"
#include "apps/printing/name_lists.h"
#include "apps/testing/texts.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/job_environment.h"
#include "examples/deploy/called_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "yaml-cpp/yaml.h"

namespace dtnn {
namespace {

using testing::Call;
using testing::CalledPrograms;
using testing::Contents;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFolder = "examples/deploy/";
using Words = std::vector<std::string>;

std::string OptionOf(const Words& words, const std::string& name) {
  for (const std::string& word : words) {
    if (word.starts_with("--" + name + "=")) return word.substr(name.size() + 3);
  }
  return "";
}

// Words as dtnn takes them; by the parsers of the programs.
void ExpectValid(Words words) {
  ASSERT_FALSE(words.empty());
  const std::string program = words[0];
  words.erase(words.begin());
  if (program == "benchmark") {
    const absl::StatusOr<CommandLine> line = ParseFlags(words);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_THAT(line->warnings, IsEmpty());
    EXPECT_TRUE(CheckModelName(line->options.network.name).ok());
    return;
  }
  ASSERT_EQ(program, "aggregator");
  AggregatorFlags flags;
  const absl::StatusOr<ToolRequest> request = ParseToolFlags(words, OptionsOf(flags));
  ASSERT_TRUE(request.ok()) << request.status();
  FollowData(flags);
  EXPECT_EQ(CheckAggregatorFlags(flags), absl::OkStatus());
  EXPECT_TRUE(CheckModelName(flags.run.network.name).ok());
}

// The place and the meeting of ranks 0 to `ranks` - 1.
void ExpectPlaces(const std::map<std::string, Call>& calls, int ranks, Transport transport) {
  ASSERT_EQ(calls.size(), size_t(ranks));
  std::set<int> found;
  std::set<std::string> meetings;
  for (const auto& [key, call] : calls) {
    ExpectValid(call.arguments);
    const auto get = [&call](const char* name) { return call.Get(name); };
    const LaunchPlace place = FindLaunchPlace({}, get);
    EXPECT_TRUE(place.launched) << key;
    EXPECT_EQ(place.ranks, ranks);
    EXPECT_EQ(place.transport, transport);
    found.insert(place.rank);
    if (transport == Transport::kMpi) continue;
    const absl::StatusOr<JobEnvironment> job = FindJob(place, get);
    ASSERT_TRUE(job.ok()) << job.status();
    meetings.insert(job->rendezvous.address.ToString());
  }
  EXPECT_EQ(found.size(), size_t(ranks));
  EXPECT_EQ(meetings.size(), transport == Transport::kMpi ? 0 : 1);
}

Words WordsOf(const YAML::Node& list) { return list.as<Words>(); }

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
  for (const YAML::Node& object : YAML::LoadAllFromFile(kFolder + "kubernetes/" + file)) {
    EXPECT_TRUE(object["apiVersion"] && object["kind"] && object["metadata"]["name"]);
    objects[object["kind"].as<std::string>() + "/" + object["metadata"]["name"].as<std::string>()] =
        object;
  }
  return objects;
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
    for (const char* probe : {"startupProbe", "livenessProbe"}) {
      if (!container[probe]) continue;
      EXPECT_EQ(container[probe]["httpGet"]["path"].as<std::string>(), "/healthz");
      EXPECT_TRUE(ports.contains(container[probe]["httpGet"]["port"].as<std::string>()));
    }
    if (const YAML::Node annotations = spec["template"]["metadata"]["annotations"]) {
      EXPECT_EQ(annotations["prometheus.io/scrape"].as<std::string>(), "true");
      EXPECT_EQ(annotations["prometheus.io/path"].as<std::string>(), "/metrics");
      EXPECT_EQ(annotations["prometheus.io/port"].as<std::string>(), ports["metrics"]);
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

TEST(DeployTest, TheImageRunsTheProgramsOfThePackage) {
  const std::string file = Contents(kFolder + "Dockerfile");
  EXPECT_THAT(file, HasSubstr("\nFROM debian:12\n"));
  EXPECT_THAT(file, HasSubstr("\nENTRYPOINT [\"dtnn\"]\n"));
  EXPECT_THAT(file, HasSubstr("\nUSER dtnn\n")) << "no program needs root";
}

TEST(DeployTest, ComposeRunsAnAggregatorAndItsClients) {
  const YAML::Node file = YAML::LoadFile(kFolder + "compose.yaml");
  const YAML::Node services = file["services"];
  const Words aggregator = WordsOf(services["aggregator"]["command"]);
  ExpectValid(aggregator);
  EXPECT_EQ(services["aggregator"]["ports"][0].as<std::string>(),
            "127.0.0.1:" + OptionOf(aggregator, "metrics-port") + ":" +
                OptionOf(aggregator, "metrics-port"));
  int clients = 0;
  for (const auto& service : services) {
    const YAML::Node body = service.second;
    EXPECT_EQ(body["image"].as<std::string>(), "dtnn");
    EXPECT_EQ(TransportOf(body["environment"]["PYMPI_PROTO"].as<std::string>()), Transport::kGrpc);
    EXPECT_THAT(body["environment"][kSecretVariable].as<std::string>(),
                HasSubstr("${DTNN_JOB_SECRET:?"));
    const Words words = WordsOf(body["command"]);
    if (words[0] != "benchmark") continue;
    ++clients;
    ExpectValid(words);
    EXPECT_EQ(OptionOf(words, "server"), "aggregator:61643");
    EXPECT_EQ(OptionOf(words, "model"), OptionOf(aggregator, "model"));
    EXPECT_EQ(body["hostname"].as<std::string>(), service.first.as<std::string>());
  }
  EXPECT_EQ(std::to_string(clients), OptionOf(aggregator, "min-clients"));
}

TEST(DeployTest, AFederationInKubernetesMeets) {
  const std::map<std::string, YAML::Node> objects = Objects("federation.yaml");
  ExpectConsistent(objects);
  const YAML::Node container =
      objects.at("Deployment/aggregator")["spec"]["template"]["spec"]["containers"][0];
  const Words aggregator = WordsOf(container["args"]);
  ExpectValid(aggregator);
  EXPECT_EQ(OptionOf(aggregator, "address"),
            "0.0.0.0:" + container["ports"][0]["containerPort"].as<std::string>());
  EXPECT_EQ(OptionOf(aggregator, "metrics-port"),
            container["ports"][1]["containerPort"].as<std::string>());

  const YAML::Node job = objects.at("Job/client")["spec"];
  EXPECT_EQ(job["completionMode"].as<std::string>(), "Indexed");
  EXPECT_EQ(job["completions"].as<std::string>(), OptionOf(aggregator, "min-clients"));
  EXPECT_EQ(job["parallelism"].as<std::string>(), OptionOf(aggregator, "min-clients"));
  const YAML::Node client = job["template"]["spec"]["containers"][0];
  const Words command = WordsOf(client["command"]);
  ASSERT_EQ(command.size(), 3);
  CalledPrograms programs;
  std::set<std::string> names, parts;
  for (int index = 0; index < 3; ++index) {
    const std::string variables =
        VariablesOf(client) + "JOB_COMPLETION_INDEX=" + std::to_string(index);
    const std::map<std::string, Call> calls =
        programs.Run("sh -c " + Quote(command[2]), variables, "JOB_COMPLETION_INDEX");
    ASSERT_EQ(calls.size(), 1);
    const Call& call = calls.begin()->second;
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

TEST(DeployTest, RanksInKubernetesFindTheirPlaces) {
  const std::map<std::string, YAML::Node> objects = Objects("ranks.yaml");
  ExpectConsistent(objects);
  const YAML::Node set = objects.at("StatefulSet/ranks")["spec"];
  const YAML::Node service = objects.at("Service/" + set["serviceName"].as<std::string>())["spec"];
  EXPECT_EQ(service["clusterIP"].as<std::string>(), "None") << "names of pods need that";
  EXPECT_TRUE(service["publishNotReadyAddresses"].as<bool>());
  EXPECT_EQ(set["podManagementPolicy"].as<std::string>(), "Parallel") << "ranks wait for others";
  const YAML::Node container = set["template"]["spec"]["containers"][0];
  const Words command = WordsOf(container["command"]);
  const int ranks = set["replicas"].as<int>();
  CalledPrograms programs;
  std::map<std::string, Call> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string variables = VariablesOf(container) + "HOSTNAME=ranks-" + std::to_string(rank);
    all.merge(programs.Run("sh -c " + Quote(command[2]), variables, "HOSTNAME"));
  }
  ExpectPlaces(all, ranks, Transport::kGrpc);
  EXPECT_STREQ(all.at("ranks-3").Get(kRankVariable), "3");
  EXPECT_STREQ(all.at("ranks-3").Get(kAddressVariable), "ranks-0.ranks");
}

TEST(DeployTest, RanksOfSlurmFindTheirPlaces) {
  CalledPrograms programs;
  programs.Add("scontrol",
               "[ \"$*\" = 'show hostnames node[1-2]' ] && printf 'node1\\nnode2\\n'\n");
  programs.Add("srun",
               "while [ \"${1#--}\" != \"$1\" ]; do\n  shift\ndone\n"
               "for i in 0 1 2 3; do\n"
               "  SLURM_PROCID=$i SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 \"$@\" || exit 1\ndone\n");
  const std::map<std::string, Call> calls =
      programs.Run("bash " + kFolder + "ranks.slurm",
                   "-u DTNN_JOB_SECRET HOME=/home/me SLURM_JOB_ID=7 SLURM_JOB_NODELIST='node[1-2]' "
                   "SLURM_CPUS_PER_TASK=8",
                   "SLURM_PROCID");
  ExpectPlaces(calls, 4, Transport::kGrpc);
  EXPECT_STREQ(calls.at("1").Get(kAddressVariable), "node1");
  EXPECT_STREQ(calls.at("1").Get("OMP_NUM_THREADS"), "8");
  EXPECT_GE(std::string(calls.at("1").Get(kSecretVariable)).size(), 32);
}

TEST(DeployTest, RanksOfPbsFindTheirPlaces) {
  CalledPrograms programs;
  programs.Add("mpirun",
               "[ \"$1 $2\" = '--hostfile nodes' ] || exit 1\n"
               "while [ \"${1#-}\" != \"$1\" ]; do\n  shift 2\ndone\n"
               "for i in 0 1 2 3; do\n"
               "  OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=4 \"$@\" || exit 1\ndone\n");
  const std::map<std::string, Call> calls = programs.Run(
      "bash " + kFolder + "ranks.pbs",
      "-u OMP_NUM_THREADS -u PYMPI_PROTO HOME=/home/me PBS_O_WORKDIR=. PBS_NODEFILE=nodes",
      "OMPI_COMM_WORLD_RANK");
  ExpectPlaces(calls, 4, Transport::kMpi);
  EXPECT_STREQ(calls.at("3").Get("OMP_NUM_THREADS"), "8");
}

}  // namespace
}  // namespace dtnn
