terraform {
  required_providers { google = { source = "hashicorp/google" } }
}
variable "port" { type = string }
variable "stage" {
  type    = number
  default = 1
}
provider "google" {
  project                = "tf-project"
  region                 = "us-central1"
  access_token           = "none"
  pubsub_custom_endpoint = "http://127.0.0.1:${var.port}/v1/"
  user_project_override  = false
  batching { enable_batching = false }
}
locals { two = var.stage == 2 }

resource "google_pubsub_schema" "avro" {
  name       = "tf-avro"
  type       = "AVRO"
  definition = local.two ? jsonencode({ type = "record", name = "A", fields = [{ name = "a", type = "string" }, { name = "b", type = ["null", "int"], default = null }] }) : jsonencode({ type = "record", name = "A", fields = [{ name = "a", type = "string" }] })
}
resource "google_pubsub_schema" "proto" {
  name       = "tf-proto"
  type       = "PROTOCOL_BUFFER"
  definition = "syntax = \"proto3\";\nmessage P {\nstring a = 1;\n}"
}
resource "google_pubsub_topic" "plain" {
  name                       = "tf-plain"
  labels                     = local.two ? { env = "prod", more = "x" } : { env = "test" }
  message_retention_duration = local.two ? "90000s" : "86600s"
}
resource "google_pubsub_topic" "bare" { name = "tf-bare" }
resource "google_pubsub_topic" "region" {
  name = "tf-region"
  message_storage_policy {
    allowed_persistence_regions = local.two ? ["europe-west3", "europe-west1"] : ["europe-west3"]
    enforce_in_transit          = true
  }
  kms_key_name = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
}
resource "google_pubsub_topic" "schema" {
  name = "tf-schema"
  schema_settings {
    schema   = google_pubsub_schema.avro.id
    encoding = local.two ? "BINARY" : "JSON"
  }
}
resource "google_pubsub_topic" "udf" {
  name = "tf-udf"
  message_transforms {
    disabled = local.two
    javascript_udf {
      function_name = "isYearEven"
      code          = "function isYearEven(message, metadata) {\n const d = JSON.parse(message.data); return d.year % 2 === 0 ? message : null;\n}\n"
    }
  }
}
resource "google_pubsub_topic" "dead" { name = "tf-dead" }
resource "google_pubsub_subscription" "bare" {
  name  = "tf-bare"
  topic = google_pubsub_topic.bare.id
}
resource "google_pubsub_subscription" "pull" {
  name                       = "tf-pull"
  topic                      = google_pubsub_topic.plain.id
  labels                     = { foo = local.two ? "baz" : "bar" }
  message_retention_duration = local.two ? "1300s" : "1200s"
  retain_acked_messages      = true
  ack_deadline_seconds       = local.two ? 30 : 20
  expiration_policy { ttl = local.two ? "" : "300000.5s" }
  retry_policy {
    minimum_backoff = local.two ? "12s" : "10s"
    maximum_backoff = "300.5s"
  }
  enable_message_ordering = true
}
resource "google_pubsub_subscription" "filter" {
  name   = "tf-filter"
  topic  = google_pubsub_topic.plain.id
  filter = local.two ? "attributes.foo = \"baz\"\n AND attributes.bar = \"x\"" : "attributes.foo = \"bar\"\n"
}
resource "google_pubsub_subscription" "exact" {
  name                         = "tf-exact"
  topic                        = google_pubsub_topic.plain.id
  enable_exactly_once_delivery = !local.two
}
resource "google_pubsub_subscription" "dlq" {
  name  = "tf-dlq"
  topic = google_pubsub_topic.plain.id
  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead.id
    max_delivery_attempts = local.two ? 20 : 10
  }
}
resource "google_pubsub_subscription" "push" {
  name                 = "tf-push"
  topic                = google_pubsub_topic.plain.id
  ack_deadline_seconds = 20
  push_config {
    push_endpoint = local.two ? "https://example.com/pushed" : "https://example.com/push"
    attributes    = { x-goog-version = "v1" }
    oidc_token {
      service_account_email = "a@b.iam.gserviceaccount.com"
      audience              = local.two ? "https://other" : null
    }
  }
}
resource "google_pubsub_subscription" "nowrap" {
  name  = "tf-nowrap"
  topic = google_pubsub_topic.plain.id
  push_config {
    push_endpoint = "https://example.com/push"
    no_wrapper { write_metadata = !local.two }
  }
}
resource "google_pubsub_subscription" "udf" {
  name  = "tf-udf-sub"
  topic = google_pubsub_topic.plain.id
  message_transforms {
    javascript_udf {
      function_name = local.two ? "g" : "f"
      code          = local.two ? "function g(message, metadata) { return null; }" : "function f(message, metadata) { return message; }"
    }
  }
}
resource "google_pubsub_topic_iam_member" "member" {
  topic  = google_pubsub_topic.plain.name
  role   = "roles/pubsub.viewer"
  member = local.two ? "user:b@example.com" : "user:a@example.com"
}
resource "google_pubsub_topic_iam_binding" "binding" {
  topic   = google_pubsub_topic.plain.name
  role    = "roles/pubsub.editor"
  members = local.two ? ["user:a@example.com", "user:b@example.com"] : ["user:a@example.com"]
}
resource "google_pubsub_subscription_iam_member" "member" {
  subscription = google_pubsub_subscription.pull.name
  role         = "roles/pubsub.subscriber"
  member       = "user:a@example.com"
  condition {
    title      = "never"
    expression = "request.time < timestamp(\"2020-01-01T00:00:00Z\")"
  }
}
resource "google_pubsub_subscription_iam_policy" "policy" {
  subscription = google_pubsub_subscription.exact.name
  policy_data  = data.google_iam_policy.p.policy_data
}
data "google_iam_policy" "p" {
  binding {
    role    = "roles/editor"
    members = ["user:jane@example.com"]
  }
}
resource "google_pubsub_schema_iam_member" "member" {
  schema = google_pubsub_schema.avro.name
  role   = "roles/viewer"
  member = "user:a@example.com"
}
data "google_pubsub_topic" "read" {
  name       = google_pubsub_topic.plain.name
  depends_on = [google_pubsub_topic.plain]
}
data "google_pubsub_subscription" "read" { name = google_pubsub_subscription.pull.name }
output "read" { value = [data.google_pubsub_topic.read.labels, data.google_pubsub_subscription.read.topic] }
