# Every resource of the AWS provider that stands for something of SQS and SNS; stage 2 changes what stage 1 made.

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "url" { type = string }
variable "stage" { type = number }

provider "aws" {
  region     = "us-east-1"
  access_key = "AKIDEXAMPLE"
  secret_key = "secret"

  # Credentials and account are asked of STS; there is no instance to ask.
  skip_metadata_api_check = true

  endpoints {
    sqs = var.url
    sns = var.url
    sts = var.url
  }

  default_tags { tags = { by = "terraform" } }
}

locals { second = var.stage == 2 }

data "aws_caller_identity" "me" {}

resource "aws_sqs_queue" "bare" { name = "tf-bare" }

resource "aws_sqs_queue" "dead" {
  name                      = "tf-dead"
  message_retention_seconds = 1209600
}

resource "aws_sqs_queue" "full" {
  name                       = "tf-full"
  delay_seconds              = local.second ? 5 : 10
  max_message_size           = local.second ? 262144 : 2048
  message_retention_seconds  = 86400
  receive_wait_time_seconds  = local.second ? 0 : 20
  visibility_timeout_seconds = 43200
  sqs_managed_sse_enabled    = local.second

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = local.second ? 1000 : 4
  })
  tags = local.second ? { stage = "two", empty = "" } : { stage = "one", gone = "later" }
}

resource "aws_sqs_queue" "kms" {
  name                              = "tf-kms"
  kms_master_key_id                 = local.second ? "alias/mine" : "alias/aws/sqs"
  kms_data_key_reuse_period_seconds = 300
}

resource "aws_sqs_queue" "dead_fifo" {
  name       = "tf-dead.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "fifo" {
  name                        = "tf-full.fifo"
  fifo_queue                  = true
  content_based_deduplication = local.second
  deduplication_scope         = local.second ? "queue" : "messageGroup"
  fifo_throughput_limit       = local.second ? "perQueue" : "perMessageGroupId"
}

resource "aws_sqs_queue_redrive_policy" "fifo" {
  queue_url = aws_sqs_queue.fifo.id
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_fifo.arn
    maxReceiveCount     = 2
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "dead" {
  queue_url = aws_sqs_queue.dead.id
  redrive_allow_policy = local.second ? jsonencode({ redrivePermission = "allowAll" }) : jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.full.arn]
  })
}

resource "aws_sqs_queue_policy" "full" {
  queue_url = aws_sqs_queue.full.id
  policy    = data.aws_iam_policy_document.send.json
}

data "aws_iam_policy_document" "send" {
  statement {
    actions   = local.second ? ["sqs:SendMessage", "sqs:ReceiveMessage"] : ["sqs:SendMessage"]
    resources = [aws_sqs_queue.full.arn]
    principals {
      type        = "Service"
      identifiers = ["sns.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_sns_topic.full.arn]
    }
  }
}

resource "aws_sns_topic" "bare" { name = "tf-bare" }

resource "aws_sns_topic" "full" {
  name              = "tf-full"
  display_name      = local.second ? "" : "A name"
  signature_version = local.second ? 1 : 2
  tracing_config    = local.second ? "PassThrough" : "Active"
  kms_master_key_id = local.second ? null : "alias/aws/sns"

  sqs_success_feedback_role_arn    = "arn:aws:iam::000000000000:role/feedback"
  sqs_failure_feedback_role_arn    = local.second ? null : "arn:aws:iam::000000000000:role/feedback"
  sqs_success_feedback_sample_rate = local.second ? 100 : 50

  delivery_policy = local.second ? null : jsonencode({
    http = {
      defaultHealthyRetryPolicy = {
        minDelayTarget     = 1
        maxDelayTarget     = 20
        numRetries         = 10
        numMaxDelayRetries = 2
        numNoDelayRetries  = 1
        numMinDelayRetries = 3
        backoffFunction    = "exponential"
      }
      disableSubscriptionOverrides = false
      defaultThrottlePolicy        = { maxReceivesPerSecond = 7 }
    }
  })
  tags = local.second ? {} : { stage = "one" }
}

resource "aws_sns_topic" "fifo" {
  name                        = "tf-full.fifo"
  fifo_topic                  = true
  content_based_deduplication = !local.second
  fifo_throughput_scope       = local.second ? "Topic" : "MessageGroup"
  archive_policy              = local.second ? null : jsonencode({ MessageRetentionPeriod = "30" })
}

resource "aws_sns_topic_policy" "full" {
  arn = aws_sns_topic.full.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Id      = "tf"
    Statement = [{
      Sid       = local.second ? "two" : "one"
      Effect    = "Allow"
      Principal = { AWS = "*" }
      Action    = ["SNS:Publish", "SNS:Subscribe"]
      Resource  = aws_sns_topic.full.arn
      Condition = { StringEquals = { "AWS:SourceOwner" = data.aws_caller_identity.me.account_id } }
    }]
  })
}

resource "aws_sns_topic_data_protection_policy" "bare" {
  arn = aws_sns_topic.bare.arn
  policy = jsonencode({
    Name      = "guard"
    Version   = "2021-06-01"
    Statement = [{
      Sid            = local.second ? "two" : "one"
      DataDirection  = "Inbound"
      Principal      = ["*"]
      DataIdentifier = ["arn:aws:dataprotection::aws:data-identifier/EmailAddress"]
      Operation      = { Deny = {} }
    }]
  })
}

resource "aws_sns_topic_subscription" "full" {
  topic_arn            = aws_sns_topic.full.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.full.arn
  raw_message_delivery = !local.second
  filter_policy_scope  = local.second ? "MessageBody" : "MessageAttributes"
  filter_policy = local.second ? jsonencode({ order = { price = [{ numeric = [">", 10] }] } }) : jsonencode({
    kind = ["a", { prefix = "b" }]
  })
  redrive_policy       = local.second ? null : jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn })
}

resource "aws_sns_topic_subscription" "bare" {
  topic_arn = aws_sns_topic.bare.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.bare.arn
}

resource "aws_sns_topic_subscription" "fifo" {
  topic_arn     = aws_sns_topic.fifo.arn
  protocol      = "sqs"
  endpoint      = aws_sqs_queue.fifo.arn
  replay_policy = local.second ? null : jsonencode({ PointType = "Timestamp", StartingPoint = "2026-01-01T00:00:00.000Z" })
}

data "aws_sqs_queue" "full" {
  name       = "tf-full"
  depends_on = [aws_sqs_queue.full]
}

data "aws_sqs_queues" "all" {
  queue_name_prefix = "tf-"
  depends_on        = [aws_sqs_queue.full]
}

data "aws_sns_topic" "full" {
  name       = "tf-full"
  depends_on = [aws_sns_topic.full]
}

output "found" {
  value = [data.aws_sqs_queue.full.arn == aws_sqs_queue.full.arn, data.aws_sns_topic.full.arn == aws_sns_topic.full.arn]
}
